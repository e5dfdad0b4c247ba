"""A job of the runner: buffers, launches and cases. `execution/runner/job.py` writes it as files and runs it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

CASE_INSTRUCTIONS = 1_000_000_000
"""A repeat that executes more instructions on the emulator is ended: it may never end."""

Role = Literal["in", "out", "inout", "workspace"]
Mode = Literal["check", "time", "profile"]
Content = bytes  # under a name that a field called `bytes` does not hide


@dataclass(frozen=True)
class Buffer:
    """A block of device memory. `data` are its contents before the first launch; without them it is poisoned.

    `align`: it begins at any multiple of so many bytes, drawn for each allocation.
    """

    name: str
    bytes: int
    role: Role
    data: Content | None = None
    align: int = 256


@dataclass(frozen=True)
class RunnerArgument:
    """One argument of a kernel: a buffer's name, or the bytes of a scalar as the kernel's parameter holds them."""

    buffer: str | None = None
    scalar: bytes | None = None


@dataclass(frozen=True)
class RunnerLaunch:
    """One kernel launch; `grid` counts workgroups."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    lds_bytes: int
    arguments: tuple[RunnerArgument, ...]


@dataclass(frozen=True)
class Timing:
    """How launches are timed. `buffer_sets`: copies of all buffers, which samples take in turn to find caches cold.

    `kept`: the samples whose outputs are reported, ascending. Draw them, so that no kernel knows which are judged.
    """

    warmups: int = 3
    samples: int = 20
    buffer_sets: int = 1
    kept: tuple[int, ...] = ()


@dataclass(frozen=True)
class Rival:
    """The other kernel of a case that is timed in turns, with the same inputs, and how.

    pairs: at most; after `least_pairs` the time budget may end them. event_us: how long the launches between two events
    take at least, as `most_launches` and `buffer_sets` allow: each launch between two events has a set of its own.
    more_inputs: of its own buffers, as many as the case has; the sets of both sides take all inputs in turn.
    """

    buffers: tuple[Buffer, ...]
    launches: tuple[RunnerLaunch, ...]
    pairs: int
    least_pairs: int
    budget_s: float
    settle_s: float
    settle_limit_s: float  # on the host's clock, where the events do not add up to it
    event_us: float
    most_launches: int
    buffer_sets: int
    more_inputs: tuple[Mapping[str, Content], ...] = ()


@dataclass(frozen=True)
class RunCase:
    """Buffers, and the launches that work on them in order. `timing` is used in mode `time` only.

    `emulator_options`: of each repeat, as in AMDKERNEL_EMULATOR_OPTIONS; a GPU does not see them. Where the first
    repeat executes more instructions than `close_look_within`, less is checked: sandbox/runner/budget.py.
    `more_inputs`: other data of the buffers that have some. In mode `time` the sets of buffers take them in turn; else
    they run after the repeats, once each in the plain order, then the first data again. All runs share one process.
    """

    buffers: tuple[Buffer, ...]
    launches: tuple[RunnerLaunch, ...]
    repeats: int = 3
    timing: Timing = Timing()
    emulator_options: tuple[str, ...] = ()
    close_look_within: int = 10_000_000
    more_inputs: tuple[Mapping[str, Content], ...] = ()
    rival: Rival | None = None


@dataclass(frozen=True)
class RunnerJob:
    """What one call of the runner does."""

    arch: str
    code_object: bytes
    cases: tuple[RunCase, ...]
    mode: Mode = "check"
    case_timeout_s: float = 60.0  # on a GPU: of the repeats of a case together, and of each of its other inputs
    layout_seed: str = ""  # where buffers lie; unknown to the kernels
    case_instructions: int = CASE_INSTRUCTIONS  # of waves, on the emulator: of each run of the launches
    rival_code_object: bytes | None = None
    clock_seed: int | None = None  # on the emulator, events have the times of this simulated GPU clock
