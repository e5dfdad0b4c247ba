"""A job of the runner: buffers, launches and cases. `execution/runner/job.py` writes it as files and runs it."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["in", "out", "inout", "workspace"]
Mode = Literal["check", "time", "profile"]
Content = bytes  # under a name that a field called `bytes` does not hide


@dataclass(frozen=True)
class Buffer:
    """A block of device memory. `data` are its contents before the first launch; without them it is poisoned."""

    name: str
    bytes: int
    role: Role
    data: Content | None = None


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
    """How launches are timed. `buffer_sets`: copies of all buffers, which samples take in turn to find caches cold."""

    warmups: int = 3
    samples: int = 20
    buffer_sets: int = 1


@dataclass(frozen=True)
class RunCase:
    """Buffers, and the launches that work on them in order. `timing` is used in mode `time` only.

    `emulator_options`: of each repeat, as in AMDKERNEL_EMULATOR_OPTIONS; a GPU does not see them. Where the launches of
    the first repeat take longer than `close_look_within_s`, its options serve for all.
    """

    buffers: tuple[Buffer, ...]
    launches: tuple[RunnerLaunch, ...]
    repeats: int = 3
    timing: Timing = Timing()
    emulator_options: tuple[str, ...] = ()
    close_look_within_s: float = 1.0


@dataclass(frozen=True)
class RunnerJob:
    """What one call of the runner does."""

    arch: str
    code_object: bytes
    cases: tuple[RunCase, ...]
    mode: Mode = "check"
    case_timeout_s: float = 60.0
