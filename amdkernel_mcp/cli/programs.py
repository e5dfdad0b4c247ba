"""The command that runs a whole HIP program."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.session import Target, open_engine, progress

# The program's own options are passed on; ours are known wherever they stand, and `--` ends them.
PASS_ON = {"ignore_unknown_options": True, "help_option_names": ["--help"], "max_content_width": 100}


def run(
    program: Annotated[Path, typer.Argument(help="A program built by hipcc, or its source.", show_default=False)],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="What the program gets; after `--` also options that are ours.")
    ] = None,
    target: Target = None,
    devices: Annotated[int, typer.Option(min=1, max=16, help="How many emulated GPUs it sees.")] = 1,
    file: Annotated[
        list[Path] | None,
        typer.Option(help="A file that lies beside the program; may be repeated.", show_default=False),
    ] = None,
    flag: Annotated[
        list[str] | None, typer.Option(help="Compiler flag for a source, e.g. --flag=-O3; may be repeated.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds until it is ended.")] = 600,
) -> int:
    """Run an unmodified HIP program.

    In the sandbox, on the emulated GPU or a real one. Its output is passed on and its exit code is that of the
    command: 124 where it took too long, 1 where its source does not compile.

    Example: amdkernel run ./a.out --size 1024 --target emulator:gfx942

    Example: amdkernel run saxpy.hip --file input.bin
    """
    from amdkernel_mcp.cli.door import complain
    from amdkernel_mcp.execution.program_run import read_program

    wanted = read_program(program, arguments or [], file or [], flag or [])
    with open_engine() as engine, progress() as report:
        ended = engine.run(
            wanted, target=target, devices=devices, timeout_s=timeout, on_output=_show, on_progress=report
        )
    if ended.ended:
        complain(ended.ended, file=None if ended.compiled else str(program), as_json=False)
    return ended.code


def _show(stream: str, piece: bytes) -> None:
    out = sys.stdout.buffer if stream == "stdout" else sys.stderr.buffer
    out.write(piece)
    out.flush()
