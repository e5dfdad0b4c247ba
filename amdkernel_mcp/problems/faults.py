"""What stopped a kernel, told by the emulator or the runtime → a verdict and a finding with its source line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from amdkernel_mcp.execution.runner_answer import DispatchFault
from amdkernel_mcp.execution.runner_job import CaseReport
from amdkernel_mcp.results import CheckVerdict, Finding, FindingKind

# What lies within the runner's guard bands would not stop a GPU: the kernel would go on and be wrong.
_GUARD_BYTES = 64 << 10
_ACCESS_KINDS: dict[str, FindingKind] = {
    "out_of_bounds": "out_of_bounds",
    "read_only": "input_modified",
    "misaligned": "misaligned",
    "use_after_free": "use_after_free",
}


class Lines(Protocol):
    """Where the instructions of a code object come from."""

    def line_of(self, address: int) -> int | None:
        """The line of the user's file, or None."""
        ...


@dataclass(frozen=True)
class Layout:
    """How the elements of a buffer lie."""

    item_bytes: int
    shape: tuple[int, ...]

    def index(self, offset: int) -> str:
        """The element at a byte offset, as in `[64, 0]`; beside the array the first index leaves its range."""
        flat, inner = offset // self.item_bytes, []
        for length in reversed(self.shape[1:]):
            flat, rest = divmod(flat, length)
            inner.append(rest)
        return str([flat, *reversed(inner)])


@dataclass(frozen=True)
class Stop:
    """Why a run did not come to its end."""

    verdict: CheckVerdict
    finding: Finding


def line_at(lines: Lines | None, pc: int, callers: Sequence[int] = ()) -> int | None:
    """The line of an instruction; of one in a header's function, that of the nearest call in the user's file."""
    places = (pc, *callers) if lines else ()
    return next((line for place in places if lines and (line := lines.line_of(place))), None)


def explain_stop(report: CaseReport, *, lines: Lines | None, layouts: Mapping[str, Layout]) -> Stop | None:
    """Why the run of `report` stopped; None: it came to its end. `layouts`: of each buffer."""
    if report.status == "ok":
        return None
    record = next((record for record in reversed(report.dispatches) if record.fault), None)
    if record and record.fault:
        line = line_at(lines, record.fault.pc, record.fault.callers)
        return _of_fault(record.kernel, record.fault, line, layouts)
    message = report.message or report.status
    if report.status == "timeout":
        return Stop("timeout", Finding(kind="timeout", message=message))
    if report.status == "launch_error":
        return Stop("invalid", Finding(kind="launch_error", message=message))
    if report.status == "not_emulated":
        return Stop("not_emulated", Finding(kind="not_emulated", message=message))
    if report.status == "not_run":
        return Stop("not_measured", Finding(kind="timeout", message=message))
    kind: FindingKind = "out_of_bounds" if report.status == "fault" else "crashed"
    return Stop("crashed", Finding(kind=kind, message=message))


def _of_fault(kernel: str, fault: DispatchFault, line: int | None, layouts: Mapping[str, Layout]) -> Stop:
    place = f"workgroup {list(fault.workgroup)}, wave {fault.wave}, lane {fault.lane}"
    instruction = fault.instruction.split()[0] if fault.instruction else "an instruction"
    verdict: CheckVerdict = "crashed"
    kind: FindingKind = "crashed"
    if fault.kind in _ACCESS_KINDS:
        kind = _ACCESS_KINDS[fault.kind]
        verdict = "incorrect" if _survivable(fault) else "crashed"
        message = f"{_access(fault, layouts)}; {place}"
    elif fault.kind == "not_emulated":
        verdict = kind = "not_emulated"
        message = f"the emulator does not know {fault.instruction or 'an instruction'}"
    elif fault.kind == "step_limit":
        verdict = kind = "timeout"
        message = f"{kernel} did not end within the step limit; at the end it was in {place}"
    elif fault.kind == "deadlock":
        verdict = kind = "timeout"
        message = (
            f"{kernel} hangs: some waves of workgroup {list(fault.workgroup)} wait at a barrier that others never"
            " reach; every thread of a block must come to __syncthreads()"
        )
    elif fault.kind == "trap":
        message = f"{kernel} stopped itself with {instruction} ({place})"
    else:
        message = f"{kernel} jumped to where no code is ({place})"
    return Stop(verdict, Finding(kind=kind, message=message, line=line))


def _survivable(fault: DispatchFault) -> bool:
    """Whether a GPU would have gone on. LDS has no fault: loads beyond it give 0, stores are dropped."""
    if fault.kind == "read_only" or fault.space == "lds":
        return True
    if fault.kind != "out_of_bounds" or fault.offset is None or fault.region_bytes is None or not fault.region_live:
        return False
    return -_GUARD_BYTES <= fault.offset < fault.region_bytes + _GUARD_BYTES


def _access(fault: DispatchFault, layouts: Mapping[str, Layout]) -> str:
    verb = "writes" if fault.store else "reads"
    if fault.kind == "misaligned":
        return f"{verb} {fault.bytes} bytes at an address that is no multiple of what {fault.instruction} needs"
    if fault.space in ("lds", "scratch"):
        what = "LDS (__shared__ memory)" if fault.space == "lds" else "its private memory"
        return f"{verb} {fault.bytes} bytes at byte {fault.address} of {what}, beyond its end"
    if fault.kind == "use_after_free":
        whose = fault.region or f"an array of {fault.region_bytes} bytes"
        return f"{verb} {fault.bytes} bytes at byte {fault.offset} of {whose}, which was freed"
    if not fault.region or fault.offset is None or fault.region_bytes is None or not fault.region_live:
        return f"{verb} {fault.bytes} bytes at an address that belongs to no array"
    layout = layouts.get(fault.region) or Layout(1, (fault.region_bytes,))
    element = f"{fault.region}{layout.index(fault.offset)}"
    if fault.kind == "read_only":
        return f"{verb} {element}, an input"
    if fault.offset < 0:
        return f"{verb} {element}, before the start of {fault.region}"
    if len(layout.shape) == 1:
        return f"{verb} {element}, but {fault.region} has {layout.shape[0]} elements"
    return f"{verb} {element}, but {fault.region} has the shape {list(layout.shape)}"
