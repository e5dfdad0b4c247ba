"""What stopped a kernel, as the emulator or the runtime reports it → a verdict and a finding with its source line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Protocol

from amdkernel_mcp.counted import counted
from amdkernel_mcp.findings.hangs import (
    commonest_place,
    describe_absent_lane,
    describe_crowd,
    describe_deadlock,
    describe_hang,
)
from amdkernel_mcp.hardware.occupancy import SIMDS
from amdkernel_mcp.hardware.specs import lookup
from amdkernel_mcp.launch.kernel_symbols import source_name
from amdkernel_mcp.results.kernels import CheckVerdict, Finding, FindingKind
from amdkernel_mcp.runner_protocol.records import DispatchFault, DispatchRecord
from amdkernel_mcp.runner_protocol.report import CaseReport

# An access within the runner's guard bands does not stop a GPU: the kernel continues and is wrong.
_GUARD_BYTES = 64 << 10
HANGS = ("step_limit", "deadlock", "residency")
_ACCESS_KINDS: dict[str, FindingKind] = {
    "out_of_bounds": "out_of_bounds",
    "read_only": "input_modified",
    "misaligned": "misaligned",
    "use_after_free": "use_after_free",
}


ARGUMENTS = "the kernel's arguments"  # as sandbox/emulator/hip/report/region.h names the segment
PACKET = "the dispatch packet"  # likewise
_NULL_PAGE = 1 << 16
_FARTHEST = 1 << 36  # bytes from an array that a wrong index can reach; beyond this the pointer was wrong
_FARTHEST_ARGUMENT = 1 << 12
_REMEDIES = {
    "out_of_bounds": "check the index against the size before the access",
    "read_only": "write to an output or a workspace instead",
    "misaligned": "align the address to the size of the access",
    "use_after_free": "free the memory after the kernel has ended",
}


class Lines(Protocol):
    """The source lines of the instructions of a code object."""

    def lines_of(self, address: int) -> Sequence[int]:
        """The line of the user's file, then the lines of the inlined calls around it, innermost first."""
        ...

    def lines_near(self, address: int) -> Sequence[int]:
        """The same; for an instruction without a line, the lines of the one before it."""
        ...

    def is_opening(self, address: int) -> bool:
        """Whether that line is only the first of the function, because the compiler moved the instruction."""
        ...


@dataclass(frozen=True)
class Layout:
    """The layout of the elements of a buffer."""

    item_bytes: int
    shape: tuple[int, ...]

    def index(self, offset: int) -> str:
        """The element at a byte offset, as in `[64, 0]`; outside the array the first index is out of range."""
        flat, inner = offset // self.item_bytes, []
        for length in reversed(self.shape[1:]):
            flat, rest = divmod(flat, length)
            inner.append(rest)
        return str([flat, *reversed(inner)])


@dataclass(frozen=True)
class Stop:
    """Why a run did not finish."""

    verdict: CheckVerdict
    finding: Finding


def lines_to(lines: Lines | None, pc: int, callers: Sequence[int] = ()) -> list[int]:
    """The line of an instruction (for code from a header, of its call), then the lines of the calls around it."""
    return [line for place in (pc, *callers) for line in (lines.lines_of(place) if lines else ())]


def line_at(lines: Lines | None, pc: int, callers: Sequence[int] = ()) -> int | None:
    """The line of an instruction; for code from a header, the line of the nearest call in the user's file."""
    return next(iter(lines_to(lines, pc, callers)), None)


def place_of(kernel: str, seen: DispatchFault, calls: Sequence[int]) -> str:
    """The work-item, in the kernel with that symbol, and the calls that led there."""
    place = f"{source_name(kernel)}, workgroup {list(seen.workgroup)}, wave {seen.wave}, lane {seen.lane}"
    return f"{place}, called from line {', '.join(map(str, calls))}" if calls else place


def explain_stop(report: CaseReport, *, arch: str, lines: Lines | None, layouts: Mapping[str, Layout]) -> Stop | None:
    """Why the run of `report` on `arch` stopped; None if it finished. `layouts`: of each buffer."""
    if report.status == "ok":
        return None
    record = next((record for record in reversed(report.dispatches) if record.fault), None)
    if record and record.fault:
        if record.fault.kind in HANGS:
            return _of_hang(record, record.fault, lines, arch)
        chain = lines_to(lines, record.fault.pc, record.fault.callers)
        return _of_fault(record.kernel, record.fault, chain, layouts, SIMDS[arch].lds_granule)
    message = report.message or report.status
    if report.status == "timeout":
        return Stop("timeout", Finding(kind="timeout", message=message))
    if report.status == "launch_error":
        return Stop("invalid", Finding(kind="launch_error", message=message))
    if report.status == "not_emulated":
        return Stop("not_emulated", Finding(kind="not_emulated", message=message))
    if report.status in ("not_run", "unfinished"):
        return Stop("not_measured", Finding(kind="timeout", message=message))
    kind: FindingKind = "out_of_bounds" if report.status == "fault" else "crashed"
    return Stop("crashed", Finding(kind=kind, message=message))


def _of_fault(
    kernel: str, fault: DispatchFault, chain: Sequence[int], layouts: Mapping[str, Layout], lds_granule: int
) -> Stop:
    line, calls = (chain[0] if chain else None), chain[1:]
    place = place_of(kernel, fault, calls)
    instruction = fault.instruction.split()[0] if fault.instruction else "an instruction"
    verdict: CheckVerdict = "crashed"
    kind: FindingKind = "crashed"
    if fault.kind in _ACCESS_KINDS:
        kind = _ACCESS_KINDS[fault.kind]
        verdict = "incorrect" if _survivable(fault, lds_granule) else "crashed"
        message = f"{access_of(fault, layouts)}; {place}: {remedy_of(fault)}"
    elif fault.kind == "not_emulated":
        verdict = kind = "not_emulated"
        message = f"the emulator does not implement {fault.instruction or 'an instruction'}"
    elif fault.kind == "trap":
        message = f"stopped by {instruction}, as after abort() or a failed assert; {place}"
    else:
        message = f"jumps to where no instruction begins, as a call through a wrong pointer does; {place}"
    return Stop(verdict, Finding(kind=kind, message=message, line=line, called_from=list(calls)))


def _of_hang(record: DispatchRecord, fault: DispatchFault, lines: Lines | None, arch: str) -> Stop:
    def chain_of(pc: int, callers: Sequence[int]) -> list[int]:
        return [*lines.lines_near(pc), *(line for call in callers for line in lines.lines_of(call))] if lines else []

    running = commonest_place(fault.standing, chain_of)
    waiting = commonest_place(fault.standing, chain_of, at_barrier=True)
    chain = running.chain if running else chain_of(fault.pc, fault.callers)
    where = running or f"the last instruction ran in {place_of(record.kernel, fault, chain[1:])}"
    line, calls = (chain[0] if chain else None), list(chain[1:])
    kernel, crowd = source_name(record.kernel), _crowd_of(record, fault, arch)
    if fault.kind == "residency":
        message = describe_deadlock(kernel, crowd, where)
        return Stop("deadlock", Finding(kind="deadlock", message=message, line=line, called_from=calls))
    full = f"; {crowd}: do they wait for later ones?" if 0 < fault.fit <= fault.started < prod(record.grid) else ""
    message = describe_hang(kernel, _spent(record, fault), where, waiting, crowd=full)
    taken = next((chain_of(place.takes, []) for place in fault.standing if place.takes is not None), [])
    if taken:
        message += describe_absent_lane(taken[0])
    return Stop("timeout", Finding(kind="timeout", message=message, line=line, called_from=calls))


def _spent(record: DispatchRecord, fault: DispatchFault) -> str | None:
    """The limit that a hang reached; None where it was seen before. Seconds, where the caller limited these."""
    if fault.standstill:
        return None
    if fault.timed:
        return f"{record.seconds:.1f} s"
    executed = record.counters.get("SQ_INSTS", 0)
    return f"{round(executed, 2 - len(str(executed))):,} instructions"


def _crowd_of(record: DispatchRecord, fault: DispatchFault, arch: str) -> str:
    gpu = lookup(arch)
    return describe_crowd(fault, prod(record.grid), gpu.name if gpu else arch)


def _survivable(fault: DispatchFault, lds_granule: int) -> bool:
    """Whether the kernel continues on a GPU. Outside LDS, loads give 0 and stores are dropped; flat accesses fault."""
    if fault.kind == "out_of_bounds" and fault.space == "lds" and fault.instruction.startswith("flat_"):
        return (fault.address or 0) < -(-(fault.region_bytes or 0) // lds_granule) * lds_granule
    if fault.kind == "read_only" or fault.space == "lds":
        return True
    if fault.kind != "out_of_bounds" or fault.offset is None or fault.region_bytes is None or not fault.region_live:
        return False
    return -_GUARD_BYTES <= fault.offset < fault.region_bytes + _GUARD_BYTES


def remedy_of(fault: DispatchFault) -> str:
    """What to do about an access to memory."""
    if fault.kind != "out_of_bounds":
        return _REMEDIES[fault.kind]
    if fault.host:
        return "allocate it with hipMalloc and copy to it, or use hipHostMalloc or hipHostRegister"
    if _is_null(fault):
        return "set the pointer before it is used"
    if _has_no_lds(fault):
        return "give the launch the bytes of its `extern __shared__` arrays: third in <<<>>>, or `lds=` in a launch"
    return _REMEDIES["out_of_bounds"]


def _is_null(fault: DispatchFault) -> bool:
    near = fault.offset is not None and -_FARTHEST <= fault.offset < _FARTHEST
    return fault.space not in ("lds", "scratch") and (fault.address or 0) < _NULL_PAGE and not near


def _has_no_lds(fault: DispatchFault) -> bool:
    return fault.space == "lds" and fault.region_bytes == 0


def access_of(fault: DispatchFault, layouts: Mapping[str, Layout]) -> str:
    """What was accessed, its size, and how far outside it is."""
    verb = "writes" if fault.store else "reads"
    if fault.kind == "misaligned":
        instruction = fault.instruction.split()[0] if fault.instruction else "this instruction"
        return f"{verb} {sized(fault.bytes)} at {_somewhere(fault)}, which is not aligned as {instruction} requires"
    if fault.space in ("lds", "scratch"):
        what = "LDS (__shared__ memory)" if fault.space == "lds" else "its private memory"
        if _has_no_lds(fault):
            return f"{verb} {sized(fault.bytes)} at byte {signed(fault.address)} of {what}, but the launch has none"
        size = "it" if fault.region_bytes is None else f"its {sized(fault.region_bytes)}"
        return f"{verb} {sized(fault.bytes)} at byte {signed(fault.address)} of {what}, outside {size}"
    if fault.kind == "use_after_free":
        whose = region_name(fault.region) or f"an array of {sized(fault.region_bytes)}"
        return f"{verb} {sized(fault.bytes)} at byte {fault.offset} of {whose}, which was freed"
    if fault.host:
        where = f"0x{fault.address or 0:x}, host memory that HIP neither allocated nor registered"
        return f"{verb} {sized(fault.bytes)} at {where}"
    if _is_null(fault):
        return f"{verb} {sized(fault.bytes)} at a null pointer (address {fault.address})"
    if fault.offset is None or fault.region_bytes is None or not fault.region or _strayed(fault):
        return f"{verb} {sized(fault.bytes)} at an address outside every array (0x{fault.address or 0:x})"
    layout = layouts.get(fault.region)
    if layout is None and is_variable(fault):
        return f"{verb} {sized(fault.bytes)} at {byte_of(fault)}"
    if layout is None:
        has = "have" if fault.region == ARGUMENTS else "has"
        side = "before its start" if fault.offset < 0 else f"which {has} {sized(fault.region_bytes)}"
        return f"{verb} {sized(fault.bytes)} at byte {fault.offset} of {fault.region}, {side}"
    element = f"{fault.region}{layout.index(fault.offset)}"
    if fault.kind == "read_only":
        return f"{verb} {element}, which is an input"
    if fault.offset < 0:
        far = f"{sized(fault.bytes)}, {-fault.offset} before the start of its {fault.region_bytes}"
        return f"{verb} {element}, before the start of {fault.region} ({far})"
    past = fault.offset - fault.region_bytes
    far = f"{sized(fault.bytes)}, right behind its {fault.region_bytes}"
    if past > 0:
        far = f"{sized(fault.bytes)}, {past} past the end of its {fault.region_bytes}"
    if past < 0:
        far = f"{sized(fault.bytes)} at byte {fault.offset} of {fault.region_bytes}"
    if len(layout.shape) == 1:
        there = layout.shape[0]
        return f"{verb} {element}, but {fault.region} has {counted(there, 'element')} ({far})"
    return f"{verb} {element}, but {fault.region} has the shape {list(layout.shape)} ({far})"


def byte_of(fault: DispatchFault) -> str:
    """Which byte of a region: `byte 8 of y`. A variable comes with its size, or with how far after it."""
    if not is_variable(fault):
        return f"byte {fault.offset} of {fault.region}"
    size = fault.region_bytes or 0
    offset = fault.offset or 0
    where = f"byte {offset} of" if offset < size else f"byte {offset - size} after"
    return f"{where} {region_name(fault.region)} ({sized(size)})"


def is_variable(fault: DispatchFault) -> bool:
    """Whether the region is a variable of the program, in `__device__` or `__constant__` memory."""
    return (fault.region or "").startswith("`")


def region_name(region: str | None) -> str:
    """The name; a variable's is that of the source."""
    name = region or ""
    return f"`{source_name(name.strip('`'))}`" if name.startswith("`") else name


def _strayed(fault: DispatchFault) -> bool:
    """Whether no live array is near enough for a wrong index to explain the address."""
    offset, size = fault.offset or 0, fault.region_bytes or 0
    reach = _FARTHEST_ARGUMENT if fault.region == ARGUMENTS else _FARTHEST
    return not fault.region_live or not -reach <= offset < size + reach


def sized(count: int | None) -> str:
    """`1 byte`, `4 bytes`."""
    return counted(count or 0, "byte")


def signed(offset: int | None) -> int:
    """An unsigned 32-bit offset as a signed one."""
    return (offset or 0) - (1 << 32 if (offset or 0) >= 1 << 31 else 0)


def _somewhere(fault: DispatchFault) -> str:
    if fault.space == "lds":
        return f"byte {fault.address} of LDS"
    if fault.region and fault.offset is not None:
        return byte_of(fault)
    return f"address 0x{fault.address or 0:x}"
