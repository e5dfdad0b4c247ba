"""The command that tries the values of a kernel's `tune` lines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.html_page import require_folder, write_page
from amdkernel_mcp.cli.open_engine import open_engine_at
from amdkernel_mcp.cli.options import Case, Json, Parent, Target, TokenFile, Url
from amdkernel_mcp.cli.report import finish, progress
from amdkernel_mcp.work import Work


def tune(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[PROBLEM] KERNEL", help="Kernel file with `tune` lines, after its problem.", show_default=False
        ),
    ],
    problem: Annotated[str | None, typer.Option(help="The problem, in place of PROBLEM.", show_default=False)] = None,
    target: Target = None,
    case: Case = None,
    rows: Annotated[
        int, typer.Option(min=2, max=256, help="Combinations to try at most; of more, a search chooses.")
    ] = 64,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the search.")] = 0,
    shapes: Annotated[
        Path | None,
        typer.Option(help="CSV table of shapes such as M,N,K,dtype: the best values for each.", show_default=False),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write the table and a plot as one web page.", show_default=False)
    ] = None,
    parent: Parent = None,
    url: Url = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Find the best values of a kernel's `tune` lines.

    Checks every combination, ranks the correct ones by time and prints the line that fixes the best one.
    With --shapes: for each shape, with a rule from shape to values.
    Exit code 0: there is a best one, whether or not it is faster than the default values.

    Example: amdkernel tune softmax.hip --problem row_softmax --html softmax.html
    """
    from amdkernel_mcp.cli.show.tuning import show_tuning
    from amdkernel_mcp.engine.tuning.shapes import read_table
    from amdkernel_mcp.engine.tuning.space import TuneOptions
    from amdkernel_mcp.engine.verbs.tune import Tune
    from amdkernel_mcp.kernel_source import read_named_kernel

    chosen, file = _problem_and_file(words, problem)
    kernel = read_named_kernel(Path(file))
    require_folder(html)
    if html and shapes:
        raise typer.BadParameter("--html is the page of one sweep, and --shapes asks for several")
    options = TuneOptions(rows=rows, seed=seed, case=case, shapes=read_table(shapes) if shapes else None)
    asked = Tune(problem=chosen, source=kernel.source, file_name=kernel.file_name, target=target, options=options)
    with open_engine_at(url, token_file) as engine, progress() as report:
        result = engine.do(asked, Work(say=report, parent=parent))
    if html:
        from amdkernel_mcp.engine.tuning.page import page_of

        write_page(html, page_of(result, kernel=kernel.file_name, problem=chosen))
    return finish(
        result, good=result.best is not None, json=json, show=lambda console: show_tuning(console, result, kernel)
    )


def _problem_and_file(words: list[str], problem: str | None) -> tuple[str, str]:
    if problem is not None and len(words) == 1:
        return problem, words[0]
    if problem is None and len(words) == 2:
        return words[0], words[1]
    raise typer.BadParameter("give a problem and a kernel file: amdkernel tune KERNEL --problem PROBLEM")
