"""The runner's report on a job, once it has been validated."""

from collections.abc import Mapping
from dataclasses import dataclass

from amdkernel_mcp.runner_protocol.records import (
    CaseStatus,
    ChangedInput,
    DeviceAnswer,
    DispatchRecord,
    GuardDamage,
    Untouched,
)


@dataclass(frozen=True)
class PairsReport:
    """The times of a case in turns with its rival: (candidate, rival) per launch, and the outputs of judged samples."""

    pairs_us: tuple[tuple[float, float], ...]
    batch: int
    buffer_sets: int
    settled_us: float
    outputs: tuple[Mapping[str, bytes], ...]  # of the candidate, per judged sample
    rival_outputs: tuple[Mapping[str, bytes], ...]
    inputs: tuple[int, ...] = ()  # per judged sample: which of the case's inputs it had
    process: int = 0  # whose launches a profiler's trace has under this number
    damage: tuple[GuardDamage, ...] = ()  # of the candidate, as `repeat` the number of the judged sample
    rival_damage: tuple[GuardDamage, ...] = ()
    filled: bool = False  # every sample was enqueued as a whole before its first event


@dataclass(frozen=True)
class CaseReport:
    """How one case went. Only `ok` has all turns; the others have those that came before the failure.

    The turns: turns.py.
    """

    status: CaseStatus
    message: str
    outputs: tuple[Mapping[str, bytes], ...]  # per turn, by buffer
    guard_damage: tuple[GuardDamage, ...] = ()
    inputs_modified: tuple[ChangedInput, ...] = ()
    events_us: tuple[tuple[float, ...], ...] = ()  # per sample and launch; of the emulator: wall time, not a GPU's
    untouched: tuple[Untouched, ...] = ()  # of the emulator
    dispatches: tuple[DispatchRecord, ...] = ()  # of the emulator, in order; empty on a GPU
    pairs: PairsReport | None = None


@dataclass(frozen=True)
class RunnerReport:
    """What the runner answered. `device` is None when no case read it."""

    device: DeviceAnswer | None
    cases: tuple[CaseReport, ...]
