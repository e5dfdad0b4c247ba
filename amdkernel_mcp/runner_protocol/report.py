"""The runner's report on a job, once it has been validated."""

from collections.abc import Mapping
from dataclasses import dataclass

from amdkernel_mcp.runner_protocol.records import CaseStatus, DeviceAnswer, DispatchRecord, GuardDamage


@dataclass(frozen=True)
class CaseReport:
    """How one case went. Only `ok` has all repeats; the others have those that came before the failure."""

    status: CaseStatus
    message: str
    outputs: tuple[Mapping[str, bytes], ...]  # per repeat, by buffer; mode `time`: one more, from the last timed sample
    guard_damage: tuple[GuardDamage, ...] = ()
    inputs_modified: tuple[str, ...] = ()
    events_us: tuple[tuple[float, ...], ...] = ()  # per sample and launch; of the emulator: wall time, not a GPU's
    dispatches: tuple[DispatchRecord, ...] = ()  # of the emulator, in order; empty on a GPU


@dataclass(frozen=True)
class RunnerReport:
    """What the runner answered. `device` is None when no case read it."""

    device: DeviceAnswer | None
    cases: tuple[CaseReport, ...]
