"""Runs a whole HIP program on the emulator or a GPU, always in a sandbox, and passes its output on as it comes.

Nothing that such a program prints or returns is a measurement of ours.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Literal

from amdkernel_mcp.errors import InputError, SandboxError
from amdkernel_mcp.execution.limits import RUN_LIMITS
from amdkernel_mcp.execution.runner.program_build import BUILT_FILES, build_program
from amdkernel_mcp.execution.runner.program_files import Program
from amdkernel_mcp.execution.sandbox import Completed, Sandbox
from amdkernel_mcp.execution.stdin_stream import StdinStream
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.results.kernels import Finding
from amdkernel_mcp.results.programs import ProgramProfile
from amdkernel_mcp.runner_protocol.records import PROGRAM, REPORT
from amdkernel_mcp.work import Work

RUNNER = "/opt/amdkernel/runner/run_program.py"
KEEPER = "/opt/amdkernel/runner/keep_files.py"
EMULATOR = "/opt/amdkernel/emulator"
KEPT_LAUNCHES = 4
"""Of each kernel, grid and block: those that a profile counts in full."""
TIMED_OUT = 124
"""The code of a program that was ended for its time, as of timeout(1)."""
_SHOWN = 80  # characters of a line that differs
_REPORTING_S = 3.0  # of a program's time, at most: for the report of a kernel that did not end
# libomp starts a thread per CPU of the host, and gives up where the sandbox has no room for one.
_OPENMP = (
    f"OMP_NUM_THREADS=$(n=$(nproc); echo $((n < {RUN_LIMITS.cpus:.0f} ? n : {RUN_LIMITS.cpus:.0f})))",
    f"OMP_THREAD_LIMIT={RUN_LIMITS.processes // 2}",
)

Stream = Literal["stdout", "stderr", "build"]
"""The program's own two, and what its compiler or its build prints before."""

_STREAM_OF: Mapping[str, Stream] = {"o": "stdout", "e": "stderr"}
_EXIT_CODE = "x"  # the letter of the runner's last line


@dataclass(frozen=True)
class ProgramRun:
    """How it ended. `code` is the program's own, or 128 + N for signal N; `ended` says why it has none of its own."""

    code: int
    ended: str | None = None
    compiled: bool = True
    findings: tuple[Finding, ...] = ()
    stops: tuple[Finding, ...] = ()  # what stopped a kernel without a check being asked for: not our verdict
    overruns: tuple[Finding, ...] = ()  # accesses beyond an allocation that stop no GPU: no failure
    reports: Mapping[int, Mapping[str, bytes]] = field(default_factory=dict)  # the emulator's, by order
    files: Mapping[str, bytes] = field(default_factory=dict)  # that were built or written, where they are kept
    profile: ProgramProfile | None = None  # where it was asked for, and the program could be built


@dataclass(frozen=True)
class Look:
    """What the emulator checks. `schedules`: how many other orders of waves and workgroups are compared; `order`: the
    seed of the one to run in. `profile`: it counts what the kernels do instead."""

    memory: bool = False
    races: bool = False
    schedules: int = 0
    order: int = 0
    profile: bool = False

    @property
    def closely(self) -> bool:
        """Whether a report of findings is wanted."""
        return self.memory or self.races

    def options(self) -> str:
        """For AMDKERNEL_EMULATOR_OPTIONS. Orders are compared with the plain one, not with that of several threads."""
        if self.profile:
            return f"overruns=1,memory=1,pcs=1,kept_launches={KEPT_LAUNCHES}"
        how = f"check=1,races={int(self.races)},last_waves_first={int(self.races)}" if self.closely else "overruns=1"
        return f"{how},schedule_seed={self.order},deterministic={int(self.schedules > 0)}"


NO_LOOK = Look()


def run_program(
    sandbox: Sandbox,
    target: Target,
    program: Program,
    *,
    on_output: Callable[[Stream, bytes], None],
    work: Work,
    devices: int = 1,
    timeout_s: float = 600.0,
    look: Look = NO_LOOK,
    stdin: int | None = None,
) -> ProgramRun:
    """Build `program` where it is not built, and run it on `target`; on the emulator, with the checks of `look`.

    stdin: a descriptor that the program's own is read from; None: it is empty. Further runs get what the first one got.

    Raises SandboxError when the sandbox fails, InputError for checks on a GPU.
    """
    if target.kind != "emulator" and look.profile:
        raise InputError(
            "only the emulator profiles whole programs", hint="record with rocprofv3, then amdkernel profile import"
        )
    if look.profile and look != Look(profile=True):
        raise InputError("a profile counts the program as it is: not with --check, --races, --schedules or --order")
    if target.kind != "emulator" and look != NO_LOOK:
        raise InputError("only the emulator can look for mistakes", hint="--target emulator:gfx942")
    built = build_program(sandbox, target.arch, program, lambda piece: on_output("build", piece), work)
    if built.failed:
        return ProgramRun(code=1, ended=built.failed, compiled=False)
    program = replace(program, path=built.path)
    files = {**program.files, **built.files}
    stdin_stream = StdinStream(stdin)

    def once(how: Look, show: Callable[[Stream, bytes], None], stdin_stream: StdinStream) -> _Run:
        exit_code = _ExitCode()
        done = sandbox.run(
            "run",
            run_command(target, program, devices, how, timeout_s),
            files,
            timeout_s=timeout_s,
            on_stderr=_reader(show, exit_code),
            stdin_stream=stdin_stream,
        )
        return _Run(done, exit_code)

    work.say(f"running {program.name}")
    printed = bytearray()
    first = once(look, _recorder(printed, on_output), stdin_stream)
    findings: list[Finding] = []
    reports = {look.order: first.report(files[program.path])}
    for seed in range(1, look.schedules + 1):
        work.say(f"running {program.name} in the order of seed {seed}")
        again = bytearray()
        same = StdinStream(None, already=bytes(stdin_stream.seen))
        other = once(replace(look, order=seed), _recorder(again, None), same)
        reports[seed] = other.report(files[program.path])
        if (other.done.exit_code, again) != (first.done.exit_code, printed):
            findings.append(_differs(seed, first.done.exit_code, printed, other.done.exit_code, again))
            break
    kept = {**built.files, **first.written()} if program.keep else {}
    return replace(first.ending(timeout_s), findings=tuple(findings), reports=reports, files=kept)


@dataclass
class _ExitCode:
    """What the runner in the sandbox records last: whether the program has `ended`, and its exit code.

    None: it could not be started. So 124 to 127 are the program's own where the record says so, and those of the
    sandbox's shell where there is none.
    """

    ended: bool = False
    code: int | None = None


@dataclass(frozen=True)
class _Run:
    """One run of the program in a sandbox."""

    done: Completed
    exit_code: _ExitCode

    def report(self, executable: bytes) -> dict[str, bytes]:
        """The emulator's files, and the program for its lines."""
        ours = {name: content for name, content in self.done.files.items() if not name.startswith(BUILT_FILES)}
        return {**ours, PROGRAM: executable}

    def written(self) -> dict[str, bytes]:
        """The files that the program made or changed."""
        files = self.done.files.items()
        return {name.removeprefix(BUILT_FILES): content for name, content in files if name.startswith(BUILT_FILES)}

    def ending(self, timeout_s: float) -> ProgramRun:
        """Raises SandboxError where the program was neither run nor ended for a limit."""
        done, record = self.done, self.exit_code
        if done.out_of_memory:
            return ProgramRun(137, "the program was ended: it needed more memory than the sandbox has")
        if record.ended and record.code is not None:
            return ProgramRun(record.code)
        if record.ended:
            return ProgramRun(127, "the program cannot be started")
        if done.timed_out:
            return ProgramRun(TIMED_OUT, f"the program was ended: it ran for more than {timeout_s:g} s")
        if done.truncated:
            return ProgramRun(137, "the program was ended: it printed more than the sandbox passes on")
        why = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.exit_code}"
        raise SandboxError(f"the sandbox did not run the program: {why}")


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
    script = f'chmod u+x "$0" && exec env {" ".join(environment)} "$@"'
    variables = [f"{name}={value}" for name, value in own.items()]
    ending = [f"--end-in={timeout_s - min(_REPORTING_S, timeout_s / 2):g}"] if target.kind == "emulator" else []
    return [
        "sh",
        "-c",
        script,
        f"./{program.path}",
        *variables,
        *(["python3", "-s", KEEPER] if program.keep else []),
        "python3",
        "-s",
        RUNNER,
        *ending,
        "--fed",
        f"./{program.path}",
        *program.arguments,
    ]


def _reader(on_output: Callable[[Stream, bytes], None], exit_code: _ExitCode) -> Callable[[str], None]:
    """Takes the lines of sandbox/runner/run_program.py apart; anything else is shown as it is."""

    def read(line: str) -> None:
        kind = line[:1]
        try:
            piece = base64.b64decode(line[1:], validate=True) if kind in (*_STREAM_OF, _EXIT_CODE) else None
        except binascii.Error:
            piece = None
        if piece is None:
            on_output("stderr", f"{line}\n".encode())
        elif kind == _EXIT_CODE:
            exit_code.ended, exit_code.code = True, int(piece) if piece.isdigit() else None
        else:
            on_output(_STREAM_OF[kind], piece)

    return read
