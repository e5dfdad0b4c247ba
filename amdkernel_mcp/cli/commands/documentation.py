"""Commands about the documentation: search, read, build, eval."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.open_engine import open_engine
from amdkernel_mcp.cli.options import Json
from amdkernel_mcp.cli.report import GOOD, deliver, finish, note, print_line, progress
from amdkernel_mcp.errors import DocumentationError

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Search and read the documentation; build its index."
)

MAX_RESULTS = 50


@app.command()
def search(
    query: Annotated[list[str] | None, typer.Argument(help="What to find.", show_default=False)] = None,
    limit: Annotated[int, typer.Option(min=1, max=MAX_RESULTS, help="Most results.")] = 10,
    source: Annotated[str | None, typer.Option(help="Only this corpus, e.g. hip.", show_default=False)] = None,
    arch: Annotated[str | None, typer.Option(help="Prefer pages of this GPU, e.g. gfx950.", show_default=False)] = None,
    rocm_version: Annotated[
        str | None, typer.Option(help="Prefer pages of this version of ROCm, e.g. 7.0.", show_default=False)
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(help="The same in other words; may be repeated three times.", show_default=False),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(help='File of {"id", "query", "also"} lines; prints one JSON line each.', show_default=False),
    ] = None,
    json: Json = False,
) -> int:
    """Find the sections that answer a query best.

    Example: amdkernel docs search "LDS bank conflicts" --also "shared memory stride"
    """
    from amdkernel_mcp.cli.commands.queries import answer_queries
    from amdkernel_mcp.cli.show.documentation import show_search
    from amdkernel_mcp.search.query.filters import SearchFilters

    if (query is None) == (queries is None):
        raise typer.BadParameter("give either a query or --queries FILE")
    if also and queries is not None:
        raise typer.BadParameter('the lines of --queries FILE have their own "also"', param_hint="--also")
    filters = SearchFilters.of(source, arch, rocm_version)
    with open_engine() as engine:
        if queries is not None:
            answer_queries(
                queries, lambda text, also: engine.docs.search(text, also=also, limit=limit, filters=filters)
            )
            return GOOD
        result = engine.search(" ".join(query or []), also=also or [], limit=limit, filters=filters)
    found = bool(result.results or result.exact or result.lessons)
    return finish(result, good=found, json=json, show=lambda console: show_search(console, result))


@app.command()
def read(
    ref: Annotated[
        str,
        typer.Argument(help="Reference of a search result, or of a name: api:hipMalloc, isa:s_waitcnt, arch:gfx942."),
    ],
    section: Annotated[str | None, typer.Option(help="Only the section with this heading.")] = None,
    start: Annotated[int, typer.Option(min=0, help="First character.")] = 0,
    max_chars: Annotated[int, typer.Option(min=1, help="Most characters.")] = 20_000,
    find: Annotated[str | None, typer.Option(help="Only the lines with all of these words.")] = None,
    json: Json = False,
) -> int:
    """Print a page or a section of the documentation.

    Example: amdkernel docs read hip:how-to/performance_guidelines
    """
    from amdkernel_mcp.cli.show.documentation import show_reading

    with open_engine() as engine, _with_command(ref):
        result = engine.read(ref, section=section, start=start, max_chars=max_chars, find=find)
    return finish(result, good=True, json=json, show=lambda console: show_reading(console, result))


@contextlib.contextmanager
def _with_command(ref: str) -> Iterator[None]:
    """Adds to the error about a ref the command that finds refs."""
    try:
        yield
    except DocumentationError as error:
        command = f'`amdkernel docs search "{ref}"` lists what can be read'
        raise DocumentationError(error.message, hint="; ".join(filter(None, [error.hint, command]))) from None


@app.command()
def build(
    from_: Annotated[
        list[Path] | None,
        typer.Option("--from", help="Folder with documentation; may be repeated.", show_default=False),
    ] = None,
    online: Annotated[bool, typer.Option("--online", help="Fetch the declared online sources too.")] = False,
) -> int:
    """Build the index over what this machine has, and over the folders given.

    Example: amdkernel docs build --from ~/rocm-docs
    """
    with open_engine() as engine, progress(lines=True) as report:
        skipped = engine.docs.build(from_ or [], online=online, on_progress=report)
    for reason in skipped:
        note(f"skipped {reason}")
    return GOOD


@app.command()
def refresh() -> int:
    """Fetch what changed in the sources that are published online, and bring the index up to date.

    Example: amdkernel docs refresh
    """
    with open_engine() as engine, progress(lines=True) as report:
        refreshed = engine.docs.refresh(report)
    for reason in refreshed.skipped:
        note(f"skipped {reason}")
    print_line(f"changed: {', '.join(refreshed.changed) or 'nothing'}")
    return GOOD


@app.command(name="eval")
def evaluate(
    queries: Annotated[Path, typer.Argument(help="File of queries with the sections that answer them.")],
    json: Json = False,
) -> int:
    """Measure how well the index answers known queries.

    Example: amdkernel docs eval docs_index/eval.jsonl
    """
    from amdkernel_mcp.cli.console import stdout_console
    from amdkernel_mcp.cli.show.documentation import show_evaluation

    with open_engine() as engine:
        evaluation = engine.docs.evaluate(queries)
    if json:
        import json as encoder
        from dataclasses import asdict

        deliver(lambda: print_line(encoder.dumps(asdict(evaluation))))
    else:
        deliver(lambda: show_evaluation(stdout_console(), evaluation))
    return GOOD
