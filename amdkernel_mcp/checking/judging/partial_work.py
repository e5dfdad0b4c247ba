"""Bytes of buffers that no launch touched, as the emulator counts them → findings."""

from collections.abc import Mapping

from amdkernel_mcp.counted import counted
from amdkernel_mcp.findings.faults import Layout
from amdkernel_mcp.results.kernels import Finding
from amdkernel_mcp.runner_protocol.records import Untouched
from amdkernel_mcp.runner_protocol.report import CaseReport


def stores_left_out(report: CaseReport, layouts: Mapping[str, Layout]) -> list[Finding]:
    """Outputs that the kernel stores only in part: what the rest holds, it did not compute."""
    first = _first_of_each(report, "store")
    return [Finding(kind="not_written", message=f"never stores {_share(seen, layouts)}") for seen in first]


def loads_left_out(report: CaseReport, layouts: Mapping[str, Layout]) -> list[Finding]:
    """Inputs that the kernel loads only in part: a right answer does not show that the rest matters."""
    return [
        Finding(
            kind="unread_input",
            message=f"never reads {_share(seen, layouts)}: if the result depends on them, these inputs do not show it",
        )
        for seen in _first_of_each(report, "load")
    ]


def _first_of_each(report: CaseReport, access: str) -> list[Untouched]:
    first: dict[str, Untouched] = {}
    for seen in report.untouched:
        if seen.access == access:
            first.setdefault(seen.buffer, seen)
    return list(first.values())


def _share(seen: Untouched, layouts: Mapping[str, Layout]) -> str:
    layout = layouts.get(seen.buffer)
    if layout is None:
        return f"{counted(seen.bytes, 'byte')} of {seen.buffer}, the first at byte {seen.first}"
    of = 1
    for length in layout.shape:
        of *= length
    elements = -(-seen.bytes // layout.item_bytes)
    if elements >= of:
        return f"{seen.buffer}, any of its {of} elements" if of > 1 else seen.buffer
    return f"{elements} of {counted(of, 'element')} of {seen.buffer}, the first {seen.buffer}{layout.index(seen.first)}"
