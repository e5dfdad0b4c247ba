"""The runner's report and the emulator's records, validated: they come from where untrusted kernels ran."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from amdkernel_mcp.errors import TargetError

CaseStatus = Literal["ok", "launch_error", "fault", "timeout", "unfinished", "not_emulated", "crashed", "not_run"]

MAX_DISPATCHES = 100_000
PROGRAM = "program"  # what the executable of a whole program is called in the sandbox
REPORT = "dispatches.jsonl"  # the emulator's records of a whole program
_Text = Annotated[str, Field(max_length=8192)]
_Name = Annotated[str, Field(max_length=1024)]
_Count = Annotated[int, Field(ge=0, lt=1 << 64)]
_Three = tuple[_Count, _Count, _Count]
_Microseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class DeviceAnswer(_Answer):
    """The device that ran the cases, in its library's words."""

    name: _Name
    arch: _Name
    rocm: _Name
    emulated: bool


class GuardDamage(_Answer):
    """Writes outside a buffer: the first one's `offset` counts from the buffer's start (before) or its end (after)."""

    buffer: _Name
    side: Literal["before", "after"]
    offset: int
    bytes: _Count
    repeat: _Count  # the turn


class ChangedInput(_Answer):
    """An `in` buffer that a turn changed."""

    buffer: _Name
    repeat: _Count  # the turn


class Untouched(_Answer):
    """Bytes of a buffer that no launch of a turn loaded, or stored; the first one's offset in the buffer."""

    buffer: _Name
    access: Literal["load", "store"]
    bytes: _Count
    first: _Count
    repeat: _Count


class PairsAnswer(_Answer):
    """The times of a case in turns with its rival, as sandbox/runner/pair_timing.py writes them."""

    batch: _Count
    buffer_sets: _Count
    settled_us: _Microseconds
    filled: bool
    pairs_us: list[tuple[_Microseconds, _Microseconds]] = Field(max_length=10_000)
    process: _Count
    kept: list[_Count]
    kept_sets: list[_Count]
    outputs: list[list[dict[str, int]]]
    damage: list[list[GuardDamage]]


class CaseAnswer(_Answer):
    """How one case went, as sandbox/runner/case_run.py writes it."""

    status: CaseStatus
    message: _Text
    device: DeviceAnswer | None
    repeats: list[dict[str, int]]
    guard_damage: list[GuardDamage]
    inputs_modified: list[ChangedInput]
    events_us: list[list[_Microseconds]]
    untouched: list[Untouched] = []  # of an emulated run
    pairs: PairsAnswer | None = None


class StandingWaves(_Answer):
    """One of so many waves that stood at an instruction when a limit stopped the kernel."""

    pc: int
    workgroup: _Three
    wave: _Count
    waves: _Count
    callers: list[int] = []
    at_barrier: bool = False
    takes: int | None = None  # where, for ever, it takes a value of a lane that is not active


class DispatchFault(_Answer):
    """What an emulated kernel did wrong, and where. `pc` is a virtual address of the code object as it was linked."""

    kind: Literal[
        "out_of_bounds",
        "misaligned",
        "not_emulated",
        "step_limit",
        "deadlock",
        "residency",
        "trap",
        "bad_pc",
        "read_only",
        "use_after_free",
        "uninitialised_read",
        "input_modified",
        "race",
        "state_between_launches",
        "missing_wait",
    ]
    pc: int
    workgroup: _Three
    wave: _Count
    lane: _Count
    instruction: _Name
    callers: list[int] = []  # of the calls that led there, innermost first
    space: Literal["global", "lds", "scratch", "scalar", "register"] | None = None
    address: _Count | None = None
    bytes: _Count | None = None
    store: bool | None = None
    host: bool = False  # the address is one of the host's own memory
    region: _Name | None = None  # the nearest buffer; a variable's symbol is in backticks
    made_at: list[int] = []  # return addresses of the program's calls that asked for that buffer, innermost first
    offset: int | None = None  # from that buffer's start
    region_bytes: _Count | None = None
    region_live: bool | None = None
    standing: list[StandingWaves] = []  # of a limit: where the waves were
    standstill: bool = False  # of a limit: it was not reached, but nothing could ever change again
    timed: bool = False  # of a limit: it was one in seconds, which the caller of a whole program gave
    started: _Count = 0  # of a limit: workgroups that had begun
    fit: _Count = 0  # of a limit: workgroups that the GPU holds at once; 0: not limited
    fit_by: Literal["lds", "vgprs", "wave_slots"] | None = None  # what bounds that


# address, executions, lanes, bytes, divergent, lines, L1 hits, L2 hits, L2 misses, LDS cycles, LDS conflicts
_PcRow = tuple[
    _Count, _Count, _Count, _Count, _Count, _Count, _Count, _Count, _Count, _Count, _Count, _Count
]  # fmt: skip


class RacePartner(_Answer):
    """The other access of a race; `update` is a read-modify-write. `atomic`: or volatile."""

    pc: int
    workgroup: _Three
    wave: _Count
    lane: _Count
    access: Literal["load", "store", "update"]
    atomic: bool
    callers: list[int] = []
    work: _Name | None = None  # of work of another stream: the kernel, or `copy`, `fill`, `release`
    object: _Count | None = None  # the code object of that kernel, to which `pc` belongs


class CallRecord(_Answer):
    """What is wrong with a copy, a fill or a release of memory by the program itself. `partner`: work of another stream
    that may touch the same bytes at the same time. `at`: the return address of the call in the program, or 0."""

    call: Literal["copy", "fill", "release"]
    kind: Literal["race", "use_after_free", "out_of_bounds"]
    store: bool
    region: _Name
    made_at: list[int] = []
    offset: _Count
    region_bytes: _Count
    bytes: _Count
    at: _Count
    partner: RacePartner | None


class DispatchFinding(DispatchFault):
    """What the checks reported at one instruction while the kernel continued. `count`: executions by a wave, with any
    number of lanes. `partner`: of races only."""

    count: _Count
    lanes: _Count = 0  # of accesses beyond a buffer: of all these executions
    off: _Count = 0  # of accesses beyond a buffer: the most bytes that one of them reached beyond it
    partner: RacePartner | None
    use: list[int] = []  # the instruction that depends on an uninitialised value or came too early, and the calls to it
    registers: _Name = ""  # of a missing wait: what a load fills; empty: a store to LDS. Or which one was never set
    remedy: _Name = ""  # of a missing wait: the instruction that waits long enough


class SampledRecord(_Answer):
    """Of a dispatch that was sampled: the workgroups that ran, and by which part of it a counter may be off."""

    ran: _Count
    of: _Count
    errors: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]]


class DispatchRecord(_Answer):
    """One dispatch on the emulator: exact counts, and executions per instruction where they were asked for."""

    kernel: _Name
    grid: _Three
    block: _Three
    lds_bytes: _Count
    seconds: _Microseconds  # of the emulation on the host: says nothing about a GPU
    counters: dict[str, _Count]
    pcs: list[_PcRow] | None
    # Of a check: instructions that follow each other and ran, by the addresses of the first and the last; 1: without an
    # active lane. Empty as well where an earlier dispatch of the process ran the same ones.
    ran: list[tuple[_Count, _Count, Literal[0, 1]]] = []
    fault: DispatchFault | None
    findings: list[DispatchFinding] = []
    races_checked: bool = False
    race_groups: _Count = 0  # workgroups in which races were looked for
    race_own_group: bool = False  # and only among the waves of each
    schedule_seed: _Count = 0
    object: _Count = 0  # number of the code object, where those are kept
    races_in_part: bool = False  # too much memory was touched to look for races in all of it
    # Not all workgroups ran.
    sampled: SampledRecord | None = None
    # Why all ran, though a sample was wanted and the dispatch is large.
    not_sampled: _Name = ""
    clock_us: tuple[_Microseconds, _Microseconds] | None = None  # start and end on the simulated clock, where it is on


class LaunchCount(_Answer):
    """How often a process launched a kernel with one grid and block, up to the moment that this was written."""

    again: _Name
    grid: _Three
    block: _Three
    object: _Count
    process: _Count
    count: _Count


class _Report(_Answer):
    format: Literal[3]
    cases: list[CaseAnswer]


_record = TypeAdapter(DispatchRecord)
_call = TypeAdapter(CallRecord)
_again = TypeAdapter(LaunchCount)
_CALL, _AGAIN = b'{"call":', b'{"again":'


def read_report(raw: bytes, *, cases: int, target: str) -> list[CaseAnswer]:
    """The answers to `cases` cases. Raises TargetError."""
    try:
        report = _Report.model_validate_json(raw)
    except ValidationError as error:
        raise TargetError(f"{target} answered with a report that is not our runner's: {_first(error)}") from error
    if len(report.cases) != cases:
        raise TargetError(f"{target} answered for {len(report.cases)} cases, it was asked for {cases}")
    return report.cases


def read_dispatches(raw: bytes, *, target: str) -> tuple[DispatchRecord, ...]:
    """The emulator's records, one a line; a last line that was cut off by a kill is left out. Raises TargetError."""
    lines = [line for line in raw.split(b"\n")[:-1] if not line.startswith((_CALL, _AGAIN))]
    if len(lines) > MAX_DISPATCHES:
        raise TargetError(f"{target} answered with {len(lines)} dispatches, more than can be believed")
    try:
        return tuple(_record.validate_json(line) for line in lines)
    except ValidationError as error:
        raise TargetError(f"{target} answered with a record that is not the emulator's: {_first(error)}") from error


def read_calls(raw: bytes, *, target: str) -> tuple[CallRecord, ...]:
    """The emulator's records of the program's own calls. Raises TargetError."""
    try:
        return tuple(_call.validate_json(line) for line in raw.split(b"\n")[:-1] if line.startswith(_CALL))
    except ValidationError as error:
        raise TargetError(f"{target} answered with a record that is not the emulator's: {_first(error)}") from error


def read_launch_counts(raw: bytes, *, target: str) -> tuple[LaunchCount, ...]:
    """The emulator's counts of launches without a record of their own. Raises TargetError."""
    try:
        return tuple(_again.validate_json(line) for line in raw.split(b"\n")[:-1] if line.startswith(_AGAIN))
    except ValidationError as error:
        raise TargetError(f"{target} answered with a record that is not the emulator's: {_first(error)}") from error


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
