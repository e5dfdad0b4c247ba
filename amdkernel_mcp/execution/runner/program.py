"""Runs somebody's HIP program, whole: on the emulator or a GPU, always in a sandbox, its output passed on as it comes.

Nothing that such a program prints or returns is a measurement of ours.
"""

import base64
import binascii
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from amdkernel_mcp.errors import InputError, SandboxError
from amdkernel_mcp.execution.docker.container import RUN_LIMITS
from amdkernel_mcp.execution.sandbox import Completed, Sandbox
from amdkernel_mcp.execution.stdin_stream import StdinStream
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.results.kernels import Finding
from amdkernel_mcp.runner_protocol.records import PROGRAM, REPORT

RUNNER = "/opt/amdkernel/runner/run_program.py"
EMULATOR = "/opt/amdkernel/emulator"
SOURCES = (".hip", ".cpp", ".cc", ".cxx", ".cu")
COMPILE_TIMEOUT_S = 300.0
MAX_INPUT_BYTES = 1 << 30
VISIBLE = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")  # the caller's own count on the emulator
_OURS = re.compile(r"(AMDKERNEL_|LD_|PYTHON).*|OUT")  # say which library is loaded, and where the report goes
_SHOWN = 80  # characters of a line that differs
_TELLING_S = 3.0  # of a program's time, at most: for telling of a kernel that did not end
# libomp starts a thread per CPU of the host, and gives up where the sandbox has no room for one.
_OPENMP = (
    f"OMP_NUM_THREADS=$(n=$(nproc); echo $((n < {RUN_LIMITS.cpus:.0f} ? n : {RUN_LIMITS.cpus:.0f})))",
    f"OMP_THREAD_LIMIT={RUN_LIMITS.processes // 2}",
)

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
    environment: Mapping[str, str] = field(default_factory=dict)
    visible: Mapping[str, str] = field(default_factory=dict)  # the caller's variables of VISIBLE


@dataclass(frozen=True)
class ProgramRun:
    """How it ended. `code` is the program's own, or 128 + N for signal N; `ended` is why it has none of its own."""

    code: int
    ended: str | None = None
    compiled: bool = True
    findings: tuple[Finding, ...] = ()
    stops: tuple[Finding, ...] = ()  # what stopped a kernel where nobody asked for a close look: no failure of ours
    overruns: tuple[Finding, ...] = ()  # accesses beyond memory's blocks, which a GPU lets pass: no failure
    reports: Mapping[int, Mapping[str, bytes]] = field(default_factory=dict)  # the emulator's, by order


@dataclass(frozen=True)
class Look:
    """How closely the emulator looks on: `schedules` are other orders of waves and workgroups whose output is compared,
    `order` is the seed of the one to run in."""

    memory: bool = False
    races: bool = False
    schedules: int = 0
    order: int = 0

    @property
    def closely(self) -> bool:
        """Whether a report of findings is wanted."""
        return self.memory or self.races

    def options(self) -> str:
        """For AMDKERNEL_EMULATOR_OPTIONS. Orders are compared with the plain one, not with that of several threads."""
        how = f"check=1,races={int(self.races)},last_waves_first={int(self.races)}" if self.closely else "overruns=1"
        return f"{how},schedule_seed={self.order},deterministic={int(self.schedules > 0)}"


NO_LOOK = Look()


def read_environment(given: Sequence[str]) -> dict[str, str]:
    """Variables for the program, from NAME=VALUE each; a later one wins. Raises InputError."""
    variables: dict[str, str] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise InputError(f"{item!r} is not of the form NAME=VALUE")
        if _OURS.fullmatch(name):
            raise InputError(f"{name} is the sandbox's own: the program cannot be given another one")
        variables[name] = value
    return variables


def read_program(
    path: Path,
    arguments: Sequence[str],
    files: Sequence[Path],
    flags: Sequence[str] = (),
    *,
    environment: Sequence[str] = (),
    caller: Mapping[str, str] | None = None,
) -> Program:
    """The program at `path`, or the source of one, with the files and variables that it wants.

    caller: the environment of who runs it, of which the variables in VISIBLE are kept. Raises InputError.
    """
    variables = read_environment(environment)
    visible = {name: (caller or {})[name] for name in VISIBLE if name in (caller or {})}
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
    return Program(path.name, content, source, tuple(arguments), beside, tuple(flags), variables, visible)


def run_program(
    sandbox: Sandbox,
    target: Target,
    program: Program,
    *,
    on_output: Callable[[Stream, bytes], None],
    on_progress: Callable[[str], None],
    devices: int = 1,
    timeout_s: float = 600.0,
    look: Look = NO_LOOK,
    stdin: int | None = None,
) -> ProgramRun:
    """Compile `program` if it is a source, and run it on `target`; on the emulator, `look` at what its kernels do.

    stdin: a descriptor that the program's own is read from; None: it is empty. Further runs get what the first one got.

    Raises SandboxError when the sandbox cannot, InputError where a GPU should be looked at.
    """
    if target.kind != "emulator" and look != NO_LOOK:
        raise InputError("only the emulator can look for mistakes", hint="--target emulator:gfx942")
    executable = program.content
    if program.source:
        on_progress(f"compiling {program.name} for {target.arch}")
        compiled = _compile(sandbox, target, program)
        on_output("stderr", compiled.stderr.encode())
        if compiled.exit_code or PROGRAM not in compiled.files:
            return ProgramRun(code=1, ended=_why_not_compiled(compiled), compiled=False)
        executable = compiled.files[PROGRAM]

    feed = StdinStream(stdin)

    def once(how: Look, show: Callable[[Stream, bytes], None], feed: StdinStream) -> Completed:
        return sandbox.run(
            "run",
            run_command(target, program, devices, how, timeout_s),
            {**program.files, PROGRAM: executable},
            timeout_s=timeout_s,
            on_stderr=_reader(show),
            feed=feed,
        )

    on_progress(f"running {program.name}")
    printed = bytearray()
    done = once(look, _recorder(printed, on_output), feed)
    findings: list[Finding] = []
    reports = {look.order: {**done.files, PROGRAM: executable}}
    for seed in range(1, look.schedules + 1):
        on_progress(f"running {program.name} in the order of seed {seed}")
        again = bytearray()
        same = StdinStream(None, already=bytes(feed.seen))
        other = once(replace(look, order=seed), _recorder(again, None), same)
        reports[seed] = {**other.files, PROGRAM: executable}
        if (other.exit_code, again) != (done.exit_code, printed):
            findings.append(_differs(seed, done.exit_code, printed, other.exit_code, again))
            break
    return replace(_ending(done, timeout_s), findings=tuple(findings), reports=reports)


def _recorder(into: bytearray, show: Callable[[Stream, bytes], None] | None) -> Callable[[Stream, bytes], None]:
    """Keeps what goes to stdout, and passes all on to `show`."""

    def record(stream: Stream, piece: bytes) -> None:
        if stream == "stdout":
            into.extend(piece)
        if show:
            show(stream, piece)

    return record


def _differs(seed: int, code: int, printed: bytearray, other_code: int, other: bytearray) -> Finding:
    what = f"the exit code is {other_code}, not {code}"
    if printed != other:
        pairs = zip_longest(printed.splitlines(), other.splitlines(), fillvalue=bytearray())
        line, (one, two) = next((n, pair) for n, pair in enumerate(pairs, 1) if pair[0] != pair[1])
        shown = [text.decode(errors="replace")[:_SHOWN] for text in (two, one)]
        what = f"line {line} of the output is {shown[0]!r}, not {shown[1]!r}"
    message = f"in the order of seed {seed} {what}: a race, or atomics in changing order; replay it with --order {seed}"
    return Finding(kind="non_deterministic", message=message)


def run_command(target: Target, program: Program, devices: int, look: Look, timeout_s: float) -> list[str]:
    """The command line in the sandbox; which libamdhip64.so is loaded is decided here.

    The emulator ends a kernel before the program is killed for its time, for it knows where the kernel hangs.
    """
    emulator = f"{EMULATOR}:" if target.kind == "emulator" else ""
    environment = [f"LD_LIBRARY_PATH={emulator}.", *_OPENMP]
    own = {**(program.visible if target.kind == "emulator" else {}), **program.environment}
    if target.kind == "emulator":
        options = f"arch={target.arch},devices={devices},{look.options()}"
        environment += [f"AMDKERNEL_EMULATOR_OPTIONS={options}"]
        environment += [f'AMDKERNEL_EMULATOR_REPORT="$OUT/{REPORT}"', 'AMDKERNEL_EMULATOR_OBJECTS="$OUT"']
    script = f'chmod u+x {PROGRAM} && exec env {" ".join(environment)} "$@"'
    variables = [f"{name}={value}" for name, value in own.items()]
    ending = [f"--end-in={timeout_s - min(_TELLING_S, timeout_s / 2):g}"] if target.kind == "emulator" else []
    return [
        "sh",
        "-c",
        script,
        PROGRAM,
        *variables,
        "python3",
        "-s",
        RUNNER,
        *ending,
        "--fed",
        f"./{PROGRAM}",
        *program.arguments,
    ]


def _compile(sandbox: Sandbox, target: Target, program: Program) -> Completed:
    # -x hip, because hipcc takes .cpp for HIP and .cc, .cxx for plain C++.
    script = f'exec hipcc -x hip --offload-arch={target.arch} -gline-tables-only -O2 -I. -o "$OUT/{PROGRAM}" "$@"'
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
