"""One attempt as its page shows it, from its record. A record of another version may lack any key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.pages.colours import Piece, coloured
from amdkernel_mcp.pages.compare import diff_of
from amdkernel_mcp.pages.findings import sort

if TYPE_CHECKING:
    from amdkernel_mcp.results.history import AttemptShown

MOST_LINES = 4000


@dataclass(frozen=True)
class SourceLine:
    """A line of the kernel file. `share`: of the executed instructions, 0 to 1; None where it is not known."""

    number: int
    pieces: Sequence[Piece]
    share: float | None
    findings: Sequence[str]


def view_of(shown: AttemptShown) -> dict[str, Any]:
    """What the template needs."""
    answer = shown.attempt.get("answer") or {}
    lines = shown.source.splitlines()
    kernels = answer.get("kernels") if shown.attempt.get("verb") == "profile" else None
    findings = [*_findings(answer, len(lines)), *_diagnostics(answer, len(lines))]
    shares: dict[int, float] = {
        hot["line"]: hot["share"] for kernel in kernels or () for hot in kernel.get("hot_lines") or ()
    }
    remarks: dict[int, list[str]] = {}
    for each in findings:
        if each["anchor"]:
            remarks.setdefault(each["anchor"], []).append(each["message"])
    source = [
        SourceLine(number, pieces, shares.get(number), remarks.get(number, ()))
        for number, pieces in enumerate(coloured(shown.source, str(shown.attempt.get("file_name")))[:MOST_LINES], 1)
    ]
    speedup = answer.get("speedup") or {}
    counters = answer.get("counters")
    return {
        "reason": answer.get("reason") or "",
        "short": _short(str(shown.attempt.get("verdict")), speedup),
        "time": _known(answer.get("time_us")),
        "span": answer.get("modelled_us"),
        "speedup": speedup if speedup.get("value") is not None else None,
        "findings": findings,
        "cases": answer.get("cases") or [],
        "diagnosis": sort(answer.get("diagnosis") or ()),
        "kernels": kernels or ([{"name": "counters", "bound": None, "metrics": counters}] if counters else []),
        "diff": diff_of(shown.diff),
        "notes": [lesson.text for lesson in shown.lessons if lesson.kind == "note"],
        "source": source,
        "is_hot": bool(shares),
        "cut": max(0, len(lines) - MOST_LINES),
    }


def _short(verdict: str, speedup: Mapping[str, Any]) -> str:
    """What a benchmark found in a few words, before its figures."""
    if speedup.get("value") is None:
        return "Timed without a baseline"
    words = {"faster": "Faster than its baseline", "slower": "Slower than its baseline"}
    return words.get(verdict, "Not distinguished from its baseline")


def _known(quantity: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return quantity if quantity and quantity.get("value") is not None else None


def _findings(answer: Mapping[str, Any], lines: int) -> list[dict[str, Any]]:
    return [_finding(each.get("kind", ""), each, lines) for each in answer.get("findings") or ()]


def _diagnostics(answer: Mapping[str, Any], lines: int) -> list[dict[str, Any]]:
    found = answer.get("diagnostics") or ()
    return [_finding(each["severity"], each, lines) for each in found if each.get("severity") in ("error", "warning")]


def _finding(kind: str, found: Mapping[str, Any], lines: int) -> dict[str, Any]:
    line = found.get("line")
    anchor = line if isinstance(line, int) and 1 <= line <= min(lines, MOST_LINES) else None
    return {"kind": kind, "message": found.get("message", ""), "line": line, "anchor": anchor}
