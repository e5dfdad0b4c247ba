"""What stopped a kernel, told by the emulator or the runtime → a verdict and a finding with its source line."""

from __future__ import annotations

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
}


class Lines(Protocol):
    """Where the instructions of a code object come from."""

    def line_of(self, address: int) -> int | None:
        """The line of the user's file, or None."""
        ...


@dataclass(frozen=True)
class Stop:
    """Why a run did not come to its end."""

    verdict: CheckVerdict
    finding: Finding


def explain_stop(report: CaseReport, *, lines: Lines | None, item_bytes: dict[str, int]) -> Stop | None:
    """Why the run of `report` stopped; None: it came to its end. `item_bytes`: of the elements of each buffer."""
    if report.status == "ok":
        return None
    record = next((record for record in reversed(report.dispatches) if record.fault), None)
    if record and record.fault:
        line = lines.line_of(record.fault.pc) if lines else None
        return _of_fault(record.kernel, record.fault, line, item_bytes)
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


def _of_fault(kernel: str, fault: DispatchFault, line: int | None, item_bytes: dict[str, int]) -> Stop:
    place = f"workgroup {list(fault.workgroup)}, wave {fault.wave}, lane {fault.lane}"
    instruction = fault.instruction.split()[0] if fault.instruction else "an instruction"
    verdict: CheckVerdict = "crashed"
    kind: FindingKind = "crashed"
    if fault.kind in ("out_of_bounds", "read_only", "misaligned"):
        kind = _ACCESS_KINDS[fault.kind]
        verdict = "incorrect" if _survivable(fault) else "crashed"
        message = f"{_access(fault, item_bytes)} ({place})"
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


def _access(fault: DispatchFault, item_bytes: dict[str, int]) -> str:
    verb = "writes" if fault.store else "reads"
    if fault.kind == "misaligned":
        return f"{verb} {fault.bytes} bytes at an address that is no multiple of what {fault.instruction} needs"
    if fault.space in ("lds", "scratch"):
        what = "LDS (__shared__ memory)" if fault.space == "lds" else "its private memory"
        return f"{verb} {fault.bytes} bytes at byte {fault.address} of {what}, beyond its end"
    if not fault.region or fault.offset is None or fault.region_bytes is None or not fault.region_live:
        return f"{verb} {fault.bytes} bytes at an address that belongs to no array"
    size = item_bytes.get(fault.region, 1)
    index, elements = fault.offset // size, fault.region_bytes // size
    if fault.kind == "read_only":
        return f"writes {fault.region}[{index}], an input"
    if index < 0:
        return f"{verb} {fault.region}[{index}], before the start of the array"
    return f"{verb} {fault.region}[{index}], but {fault.region} has {elements} elements (flat index)"
