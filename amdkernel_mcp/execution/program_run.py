"""Runs somebody's HIP program, whole: on the emulator or a GPU, always in a sandbox, its output passed on as it comes.

Nothing that such a program prints or returns is a measurement of ours.
"""

import base64
import binascii
import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from amdkernel_mcp.errors import InputError, SandboxError
from amdkernel_mcp.execution.sandbox import Completed, Sandbox
from amdkernel_mcp.execution.targets import Target

RUNNER = "/opt/amdkernel/runner/run_program.py"
EMULATOR = "/opt/amdkernel/emulator"
SOURCES = (".hip", ".cpp", ".cc", ".cxx", ".cu")
PROGRAM = "program"
COMPILE_TIMEOUT_S = 300.0
MAX_INPUT_BYTES = 1 << 30

Stream = Literal["stdout", "stderr"]
_STREAM_OF: Mapping[str, Stream] = {"o": "stdout", "e": "stderr"}


@dataclass(frozen=True)
class Program:
    """What is to run. `files` lie beside it, by name; `source` tells that it must be compiled first."""

    name: str
    content: bytes
    source: bool
    arguments: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProgramRun:
    """How it ended. `code` is the program's own, or 128 + N for signal N; `ended` is why it has none of its own."""

    code: int
    ended: str | None = None
    compiled: bool = True


def read_program(path: Path, arguments: Sequence[str], files: Sequence[Path], flags: Sequence[str] = ()) -> Program:
    """The program at `path`, or the source of one, with the files that it wants. Raises InputError."""
    content = _read(path)
    source = path.suffix in SOURCES
    if not source and not content.startswith(b"\x7fELF"):
        raise InputError(
            "this is neither an x86-64 program nor a source file",
            file=str(path),
            hint=f"sources end in {', '.join(SOURCES)}",
        )
    if flags and not source:
        raise InputError("compiler flags go with a source file only", file=str(path))
    beside: dict[str, bytes] = {}
    for file in files:
        if file.name in beside or file.name in (path.name, PROGRAM):
            raise InputError(f"two files would be called {file.name} beside the program", file=str(file))
        beside[file.name] = _read(file)
    if sum(map(len, beside.values())) + len(content) > MAX_INPUT_BYTES:
        raise InputError(f"program and files together may have {MAX_INPUT_BYTES >> 30} GiB at most", file=str(path))
    return Program(path.name, content, source, tuple(arguments), beside, tuple(flags))


def run_program(
    sandbox: Sandbox,
    target: Target,
    program: Program,
    *,
    on_output: Callable[[Stream, bytes], None],
    on_progress: Callable[[str], None],
    devices: int = 1,
    timeout_s: float = 600.0,
) -> ProgramRun:
    """Compile `program` if it is a source, and run it on `target`. Raises SandboxError when the sandbox cannot."""
    executable = program.content
    if program.source:
        on_progress(f"compiling {program.name} for {target.arch}")
        compiled = _compile(sandbox, target, program)
        on_output("stderr", compiled.stderr.encode())
        if compiled.exit_code or PROGRAM not in compiled.files:
            return ProgramRun(code=1, ended=_why_not_compiled(compiled), compiled=False)
        executable = compiled.files[PROGRAM]
    on_progress(f"running {program.name}")
    done = sandbox.run(
        "run",
        run_command(target, program.arguments, devices),
        {**program.files, PROGRAM: executable},
        timeout_s=timeout_s,
        on_stderr=_reader(on_output),
    )
    return _ending(done, timeout_s)


def run_command(target: Target, arguments: Sequence[str], devices: int) -> list[str]:
    """The command line in the sandbox; which libamdhip64.so is loaded is decided here."""
    environment = ["LD_LIBRARY_PATH=."]
    if target.kind == "emulator":
        options = f"arch={target.arch},devices={devices}"
        environment = [f"LD_LIBRARY_PATH={EMULATOR}:.", f"AMDKERNEL_EMULATOR_OPTIONS={options}"]
    script = f'chmod u+x {PROGRAM} && exec env {" ".join(environment)} python3 -s {RUNNER} ./{PROGRAM} "$@"'
    return ["sh", "-c", script, PROGRAM, *arguments]


def _compile(sandbox: Sandbox, target: Target, program: Program) -> Completed:
    # -x hip, because hipcc takes .cpp for HIP and .cc, .cxx for plain C++.
    script = f'exec hipcc -x hip --offload-arch={target.arch} -O2 -I. -o "$OUT/{PROGRAM}" "$@"'
    names = [program.name, *(name for name in program.files if posixpath.splitext(name)[1] in SOURCES)]
    return sandbox.run(
        "compile",
        ["sh", "-c", script, "compile", *names, *program.flags],
        {program.name: program.content, **program.files},
        timeout_s=COMPILE_TIMEOUT_S,
    )


def _why_not_compiled(done: Completed) -> str:
    if done.timed_out:
        return f"the compiler did not end within {COMPILE_TIMEOUT_S:.0f} s"
    return "it does not compile"


def _ending(done: Completed, timeout_s: float) -> ProgramRun:
    if done.timed_out:
        return ProgramRun(124, f"the program was ended: it ran for more than {timeout_s:g} s")
    if done.out_of_memory:
        return ProgramRun(137, "the program was ended: it needed more memory than the sandbox has")
    if done.exit_code and done.truncated:
        return ProgramRun(137, "the program was ended: it printed more than the sandbox lets through")
    if done.exit_code == 125:
        raise SandboxError("the sandbox could not take the program and its files")
    return ProgramRun(done.exit_code)


def _reader(on_output: Callable[[Stream, bytes], None]) -> Callable[[str], None]:
    """Takes the lines of sandbox/runner/run_program.py apart; anything else is shown as it is."""

    def read(line: str) -> None:
        stream = _STREAM_OF.get(line[:1])
        try:
            piece = base64.b64decode(line[1:], validate=True) if stream else None
        except binascii.Error:
            piece = None
        if stream and piece is not None:
            on_output(stream, piece)
        else:
            on_output("stderr", f"{line}\n".encode())

    return read


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise InputError("there is no such file", file=str(path))
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"the file cannot be read: {error.strerror}", file=str(path)) from None
