"""The command that ports CUDA."""

from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.open_engine import open_engine_at
from amdkernel_mcp.cli.options import Json, Parent, Target, TokenFile, Url
from amdkernel_mcp.cli.report import finish, progress
from amdkernel_mcp.work import Work


def port(
    file: Annotated[Path, typer.Argument(help="A .cu file, or the folder of one program.", show_default=False)],
    target: Target = None,
    keep_warps: Annotated[
        bool, typer.Option("--keep-warps", help="Leave the source as it is: our headers, warps of 32 on any wave.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run it on waves of 32 and of 64, and compare what it says and writes.")
    ] = False,
    candidate: Annotated[
        str | None,
        typer.Option(
            help="Make this kernel, or all that a host function launches, a candidate with the draft of a problem.",
            metavar="KERNEL",
        ),
    ] = None,
    problem: Annotated[
        str | None,
        typer.Option(help="Verify by the outputs of this problem: as check-program does.", show_default=False),
    ] = None,
    arg: Annotated[list[str] | None, typer.Option(help="An argument of the program, e.g. --arg=64.")] = None,
    define: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE for a constant of the program, to run it smaller.")
    ] = None,
    include: Annotated[
        list[Path] | None,
        typer.Option("-I", help="A folder of headers for the sources; may be repeated.", show_default=False),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, max=3600, help="Seconds of one run.")] = 60,
    out: Annotated[
        Path | None, typer.Option(help="A new or empty folder for the HIP sources, or our headers.", show_default=False)
    ] = None,
    parent: Parent = None,
    url: Url = None,
    token_file: TokenFile = None,
    json: Json = False,
) -> int:
    """Port a CUDA program to AMD GPUs.

    Translates it to HIP, builds it for waves of 64 and of 32, and lists what no translator sees: lines that assume
    warps of 32, PTX, libraries. Exit code 0: it compiles, and with --verify it computes the same on both.

    Example: amdkernel port reduce.cu --keep-warps --verify --define N=4096

    Example: amdkernel port reduce.cu --candidate block_sum --out block_sum
    """
    from amdkernel_mcp.cli.show.port import show_port
    from amdkernel_mcp.cli.show.run import write_files
    from amdkernel_mcp.engine.verbs.port import Port, PortOptions
    from amdkernel_mcp.kernel_source import KernelSource, read_named_kernel
    from amdkernel_mcp.port.sources import read_program

    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise typer.BadParameter(f"--out needs a new or empty folder, and {out} is none")
    if file.is_dir() or file.suffix == ".cu":
        found = read_program(file, include or ())
        kernel = KernelSource(found.files[found.main], found.main)
        others = {name: text for name, text in found.files.items() if name != found.main}
    else:
        kernel, others = read_named_kernel(file, extensions=True), {}
    options = PortOptions(
        others=others,
        keep_warps=keep_warps,
        verify=verify,
        arguments=tuple(arg or ()),
        defines=tuple(define or ()),
        timeout_s=timeout,
        with_sources=out is not None,
        candidate=candidate,
        problem=problem,
    )
    asked = Port(source=kernel.source, file_name=kernel.file_name, target=target, options=options)
    with open_engine_at(url, token_file) as engine, progress() as report:
        result = engine.do(asked, Work(say=report, parent=parent))
    if out is not None:
        write_files(out, {name: text.encode() for name, text in result.sources.items()})
    return finish(result, good=Port.good(result), json=json, show=lambda console: show_port(console, result, kernel))
