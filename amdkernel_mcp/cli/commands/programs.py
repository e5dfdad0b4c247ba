"""The command that runs a whole HIP program."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from amdkernel_mcp.cli.report import Target, open_engine, progress

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
    env: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE in the program's environment; may be repeated.", show_default=False),
    ] = None,
    flag: Annotated[
        list[str] | None, typer.Option(help="Compiler flag for a source, e.g. --flag=-O3; may be repeated.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Look for uses of unset memory and stray accesses.")] = False,
    races: Annotated[bool, typer.Option("--races", help="Look for races as well: some ten times slower.")] = False,
    schedules: Annotated[
        int, typer.Option(min=0, max=32, help="Run it in so many other orders, and compare what it prints.")
    ] = 0,
    order: Annotated[
        int, typer.Option(min=0, help="Run it in one of them: the seed that a finding names.", show_default=False)
    ] = 0,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds until it is ended.")] = 600,
) -> int:
    """Run an unmodified HIP program.

    In the sandbox, on the emulated GPU or a real one. Its stdin is yours, its output is passed on and its exit code is
    that of the command: 124 where it took too long, 1 where its source does not compile. Accesses beyond an allocation
    that a GPU would not notice are told at the end. With --check, --races or --schedules the emulator looks on: what it
    finds goes to stderr, with lines where the program was built with -g or is a source, and the exit code is 1 where
    the program's own is 0. Of your environment it sees HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES, and only on the
    emulator.

    Example: amdkernel run ./a.out --size 1024 --target emulator:gfx942

    Example: amdkernel run saxpy.hip --file input.bin --races
    """
    from amdkernel_mcp.cli.report import complain
    from amdkernel_mcp.execution.runner.program import Look, read_program

    wanted = read_program(program, arguments or [], file or [], flag or [], environment=env or [], caller=os.environ)
    with open_engine() as engine, progress() as report:
        ended = engine.run(
            wanted,
            target=target,
            devices=devices,
            timeout_s=timeout,
            look=Look(memory=check or races, races=races, schedules=schedules, order=order),
            stdin=_stdin(),
            on_output=_show,
            on_progress=report,
        )
    if ended.ended:
        complain(ended.ended, file=None if ended.compiled else str(program), as_json=False)
    for finding in (*ended.findings, *ended.stops, *ended.overruns):
        name = str(program) if wanted.source else None
        complain(f"{finding.kind}: {finding.message}", file=name, line=finding.line, as_json=False)
    if ended.overruns:
        complain("a GPU lets this pass and goes on, and so did this run; with --check it fails", as_json=False)
    return ended.code or int(bool(ended.findings))


def _stdin() -> int | None:
    """Our stdin, for the program; None where there is none, or reading a terminal would stop us in the background."""
    try:
        descriptor = sys.stdin.fileno()
        ours = not os.isatty(descriptor) or os.tcgetpgrp(descriptor) == os.getpgrp()
    except (AttributeError, OSError, ValueError):
        return None
    return descriptor if ours else None


def _show(stream: str, piece: bytes) -> None:
    out = sys.stdout.buffer if stream == "stdout" else sys.stderr.buffer
    out.write(piece)
    out.flush()
