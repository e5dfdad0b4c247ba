"""The command that says why a kernel is slow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from amdkernel_mcp.cli.html_page import Html, Open, require_folder, write_page
from amdkernel_mcp.cli.open_engine import open_engine, open_engine_at
from amdkernel_mcp.cli.options import Case, Json, Parent, Target, TokenFile, Url
from amdkernel_mcp.cli.report import finish, progress
from amdkernel_mcp.work import Work

Focus = Literal["memory", "lds", "occupancy", "instructions", "launch"]  # results/ would slow every command down

if TYPE_CHECKING:
    from amdkernel_mcp.profiling.detail import KernelDetail
    from amdkernel_mcp.results.kernels import ProfileResult


def profile(
    problem: Annotated[str, typer.Argument(help="Bundled problem or folder; `import` reads a recording instead.")],
    file: Annotated[Path, typer.Argument(help="Kernel file; after `import` the recording.", show_default=False)],
    target: Target = None,
    case: Case = None,
    gpu: Annotated[str | None, typer.Option(help="With `import`: the GPU it was made on, e.g. MI300X.")] = None,
    kernel_name: Annotated[
        str, typer.Option("--kernel", help="With `import`: only kernels with this in their names.", show_default=False)
    ] = "",
    limit: Annotated[
        int | None, typer.Option(help="With `import`: how many kernels, those with most time first; 20 if not given.")
    ] = None,
    focus: Annotated[Focus | None, typer.Option(help="Only findings about this.", show_default=False)] = None,
    compare_to: Annotated[
        Path | None,
        typer.Option(help="Another kernel file, attempt:ID or a recording: what went, what came.", show_default=False),
    ] = None,
    html: Html = None,
    then_open: Open = False,
    parent: Parent = None,
    url: Url = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Find out why a kernel is slow.

    Counters, metrics, what bounds it and what to try. `profile import PATH` explains a recording of rocprofv3:
    counters, kernel traces, thread traces, PC samples.

    Example: amdkernel profile row_softmax softmax.hip --html softmax.html

    Example: amdkernel profile row_softmax softmax.hip --compare-to before.hip --focus memory

    Example: amdkernel profile import counter_collection.csv --gpu MI300X
    """
    from amdkernel_mcp.cli.show.profile import show_profile
    from amdkernel_mcp.engine.engine import Engine
    from amdkernel_mcp.engine.verbs.profile import Profile
    from amdkernel_mcp.kernel_source import KernelSource, read_named_kernel
    from amdkernel_mcp.profiling.options import options_for

    options = replace(options_for(focus, compare_to), case=case)
    require_folder(html, then_open=then_open)
    details: list[KernelDetail] = []
    page: str | None = None
    if problem == "import":
        if target is not None or case is not None or parent is not None or url is not None:
            raise typer.BadParameter(
                "--target, --case, --parent and --url do not go with `amdkernel profile import PATH`"
            )
        kernel = KernelSource("", file.name)
        with open_engine() as engine:
            result = engine.profile_import(file, gpu=gpu, kernel=kernel_name, limit=limit, options=options)
    else:
        if gpu is not None or kernel_name or limit is not None:
            raise typer.BadParameter("--gpu, --kernel and --limit go with `amdkernel profile import PATH` only")
        kernel = read_named_kernel(file)
        asked = Profile(
            problem=problem, source=kernel.source, file_name=kernel.file_name, target=target, options=options
        )
        with open_engine_at(url, token_file) as either, progress(lines=True) as report:
            if isinstance(either, Engine):
                result = either.do(asked, Work(say=report, parent=parent), on_detail=details.extend if html else None)
            else:
                result = either.do(asked, Work(say=report, parent=parent))
                page = either.profile_page(result.attempt) if html else None
    if html:
        named = "" if problem == "import" else Path(problem).name
        write_page(html, page or _page(result, kernel.file_name, named, details), then_open=then_open)
    good = bool(result.kernels)
    return finish(result, good=good, json=json, show=lambda console: show_profile(console, result, kernel))


def _page(result: ProfileResult, kernel: str, problem: str, details: list[KernelDetail]) -> str:
    from amdkernel_mcp.pages.profile import profile_page

    return profile_page(result, kernel=kernel, problem=problem, details=details).text
