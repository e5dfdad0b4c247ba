"""The command that runs a whole HIP program."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amdkernel_mcp.cli.commands.run_parser import SEPARATOR
from amdkernel_mcp.cli.open_engine import open_engine
from amdkernel_mcp.cli.options import Target
from amdkernel_mcp.cli.report import ProgramCode, error_as_json, progress
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.execution.runner.program import Stream
    from amdkernel_mcp.execution.runner.program_files import ProjectBuild

CONTEXT = {"help_option_names": ["--help"], "max_content_width": 100}  # -h is the program's
_SIGPIPE = 128 + 13  # as a shell reports a program whose reader is gone


def run(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="{program | sources...} [arguments]...",
            help="A program built by hipcc, or its source files; then the program's arguments, all after `--`.",
            show_default=False,
        ),
    ] = None,
    target: Target = None,
    devices: Annotated[int, typer.Option(min=1, max=16, help="How many emulated GPUs the program sees.")] = 1,
    file: Annotated[
        list[Path] | None,
        typer.Option(help="A file to put next to the program; may be repeated.", show_default=False),
    ] = None,
    include: Annotated[
        list[Path] | None,
        typer.Option("-I", help="A folder of headers for the sources; may be repeated.", show_default=False),
    ] = None,
    dir: Annotated[  # noqa: A002 - the option's name
        Path | None,
        typer.Option(help="A folder to run in; the program's path is one in this folder.", show_default=False),
    ] = None,
    make: Annotated[
        str | None,
        typer.Option(help="With --dir: build this target with its Makefile or CMakeLists.txt.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A new or empty folder for the files that are built and written.", show_default=False),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=VALUE in the environment of the program and of its build; may be repeated.", show_default=False
        ),
    ] = None,
    flag: Annotated[
        list[str] | None, typer.Option(help="Compiler flag for the sources, e.g. --flag=-O3; may be repeated.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Check for uses of unset memory and stray accesses.")] = False,
    races: Annotated[bool, typer.Option("--races", help="Check for races as well: about ten times slower.")] = False,
    schedules: Annotated[
        int, typer.Option(min=0, max=32, help="Run it in this many other orders too, and compare its output.")
    ] = 0,
    order: Annotated[
        int, typer.Option(min=0, help="Run it in one of them: the seed that a finding names.", show_default=False)
    ] = 0,
    profile: Annotated[bool, typer.Option("--profile", help="Profile every kernel: a table at the end.")] = False,
    kernel: Annotated[
        str | None,
        typer.Option(help="With --profile: all about the kernels with this in their name.", show_default=False),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="With --profile: the answer as JSON on stdout; the program's goes to stderr.")
    ] = False,
    hang: Annotated[
        bool,
        typer.Option("--hang", help="Start it though it may hang and a reset of the GPU would take down others."),
    ] = False,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds after which the program is ended.")] = 600,
) -> int:
    """Run an unmodified HIP program.

    It runs in the sandbox, on the emulated GPU or a real one. Its stdin is yours, its output is passed on, and its exit
    code is that of the command, but for: 124 it took too long, 1 its sources do not compile or its project does not
    build, 2 and 3 as everywhere. Sources are compiled by hipcc; --dir brings a whole folder, and --make builds it there
    first. Nothing is executed outside the sandbox.

    Accesses beyond an allocation that stop no kernel on a GPU are reported at the end. With --check, --races or
    --schedules findings go to stderr, with file and line where the program has debug data, and the exit code is 1 where
    the program's own is 0. The program sees no variable of your environment but HIP_VISIBLE_DEVICES and
    ROCR_VISIBLE_DEVICES, and these only on the emulator.

    --profile counts what each kernel does and ends with a table on stderr: launches, share of the modelled time, bound,
    occupancy and the first finding. --kernel NAME adds the whole profile of the kernels with that in their name.

    Options of this command may stand anywhere before `--`. Other options go to the program, after its name.

    Example: amdkernel run ./a.out --size 1024 --target emulator:gfx942

    Example: amdkernel run main.hip solver.hip -I include --file input.bin --races -- --size 1024

    Example: amdkernel run --dir nbody --make nbody --out results ./nbody 4096
    """
    from amdkernel_mcp.cli.show.program_profile import show_program_profile
    from amdkernel_mcp.cli.show.run import show_run, write_files
    from amdkernel_mcp.engine.verbs.run import Run
    from amdkernel_mcp.execution.runner.program import Look
    from amdkernel_mcp.execution.runner.program_files import read_program

    if (kernel is not None or json) and not profile:
        raise typer.BadParameter("--kernel and --json need --profile")
    before, after = _at_separator(words or [])
    wanted = read_program(
        before,
        after=after,
        files=file or [],
        include=include or [],
        flags=flag or [],
        project=_project(dir, make),
        environment=env or [],
        caller=os.environ,
        keep=_is_new(out),
    )
    try:
        with open_engine() as engine, progress() as report:

            def pass_on(stream: "Stream", piece: bytes) -> None:
                report("")  # the spinner ends before the program's output
                _pass_on("stderr" if json and stream == "stdout" else stream, piece)

            asked = Run(
                program=wanted,
                target=target,
                devices=devices,
                timeout_s=timeout,
                look=Look(memory=check or races, races=races, schedules=schedules, order=order, profile=profile),
                hang=hang,
                stdin=_stdin(),
                on_output=pass_on,
            )
            ended = engine.do(asked, Work(say=report))
    except BrokenPipeError:
        return _reader_is_gone()
    if out and ended.compiled:
        write_files(out, ended.files)
    show_run(wanted, ended)
    if ended.profile:
        show_program_profile(ended.profile, kernel=kernel, as_json=json)
    elif json:
        error_as_json(ended.ended or "the program was not run", file=wanted.name)
    return ProgramCode(ended.code or int(bool(ended.findings)))


def _at_separator(words: list[str]) -> tuple[list[str], list[str]]:
    cut = words.index(SEPARATOR) if SEPARATOR in words else len(words)
    return words[:cut], words[cut + 1 :]


def _project(folder: Path | None, target: str | None) -> "ProjectBuild | None":
    from amdkernel_mcp.execution.runner.program_files import ProjectBuild

    if folder is None and target is not None:
        raise typer.BadParameter("--make needs the project's folder: --dir PROJECT")
    return ProjectBuild(folder, target) if folder is not None else None


def _is_new(out: Path | None) -> bool:
    """Whether files are to be kept. In a folder with files of the user, a program could replace what it likes."""
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise typer.BadParameter(f"--out needs a new or empty folder, and {out} is none")
    return out is not None


def _stdin() -> int | None:
    """Our stdin, for the program; None where there is none, or where reading a terminal would stop us."""
    try:
        descriptor = sys.stdin.fileno()
        ours = not os.isatty(descriptor) or os.tcgetpgrp(descriptor) == os.getpgrp()
    except (AttributeError, OSError, ValueError):
        return None
    return descriptor if ours else None


def _pass_on(stream: "Stream", piece: bytes) -> None:
    """The program's output as it is; what compilers print is escaped, for they quote foreign text."""
    from amdkernel_mcp.cli.escape import visible
    from amdkernel_mcp.errors import InfrastructureError

    if stream == "build":
        piece = visible(piece.decode(errors="replace")).encode()
    out = sys.stdout.buffer if stream == "stdout" else sys.stderr.buffer
    try:
        out.write(piece)
        out.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InfrastructureError(f"the program's output cannot be written: {error.strerror}") from None


def _reader_is_gone() -> int:
    from amdkernel_mcp.cli.report import discard

    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            discard(stream.fileno())
    return _SIGPIPE
