"""Two attempts side by side: which is faster, what bounds them, which counters moved, which findings went and came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.pages.findings import Sorted, sort
from amdkernel_mcp.pages.render import figure

if TYPE_CHECKING:
    from amdkernel_mcp.results.history import AttemptShown

MOST_COUNTERS = 200
SIDES = ("first", "second")


@dataclass(frozen=True)
class Moved:
    """A number of both. `times`: the second divided by the first; None where one is missing or 0."""

    name: str
    unit: str
    evidence: str
    first: float | None
    second: float | None

    @property
    def times(self) -> float | None:
        """The second divided by the first."""
        return self.second / self.first if self.first and self.second else None

    @property
    def change(self) -> float:
        """How much it moved, for the order: a number that appeared or went moved most."""
        if self.first == self.second:
            return 0.0
        return abs(log(abs(self.times))) if self.times else 1e9


def compared(first: AttemptShown, second: AttemptShown) -> dict[str, Any]:
    """What the template needs. `second`: with the difference from `first`."""
    a, b = (shown.attempt.get("answer") or {} for shown in (first, second))
    counters = sorted(_moved(_counters(a), _counters(b)), key=lambda each: -each.change)
    limits = _moved(_limits(a), _limits(b))
    sides = [sort(answer.get("diagnosis") or ()) for answer in (a, b)]
    return {
        "a": _head(first),
        "b": _head(second),
        "times": _times(first.attempt, second.attempt),
        "bounded": bounded(limits, [(answer.get("time_us") or {}).get("value") for answer in (a, b)]),
        "limits": sorted(limits, key=lambda each: -max(each.first or 0.0, each.second or 0.0))[:8],
        "moved": [each for each in counters if each.change][:MOST_COUNTERS],
        "same": sum(not each.change for each in counters),
        "findings": _gone_and_come(_messages(a), _messages(b)),
        "diagnosis": _gone_and_come(*(_because(each) for each in sides)),
        "sides": [(words, each) for words, each in zip(SIDES, sides, strict=True)],
        "diff": diff_of(second.diff),
    }


def diff_of(diff: str | None) -> list[tuple[str, str]]:
    """The class and the text of each line of a unified diff, without the two lines that name the files."""
    lines = (diff or "").splitlines()
    begin = 2 if [line[:4] for line in lines[:2]] == ["--- ", "+++ "] else 0
    return [(_kind(line), line) for line in lines[begin:]]


def _kind(line: str) -> str:
    return {"@": "at", "+": "came", "-": "went"}.get(line[:1], "same")


def _head(shown: AttemptShown) -> dict[str, Any]:
    it = shown.attempt
    answer = it.get("answer") or {}
    return {
        "it": it,
        "time": answer.get("time_us") if (answer.get("time_us") or {}).get("value") is not None else None,
        "span": answer.get("modelled_us"),
        "reason": answer.get("reason") or "",
    }


def _times(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """How many times as fast the second is, or why that cannot be said."""
    a, b = ((one.get("answer") or {}) for one in (first, second))
    times = [(answer.get("time_us") or {}) for answer in (a, b)]
    untimed = [name for name, time in zip(SIDES, times, strict=True) if not time.get("value")]
    if untimed:
        which = "Neither" if len(untimed) == 2 else f"Only the {'second' if untimed == ['first'] else 'first'}"
        return {"factor": None, "apart": None, "why": f"{which} was timed, so no times are compared."}
    names = {"problem": "problems", "target": "targets", "case": "cases", "evidence": "kinds of evidence"}
    told = [
        {
            "problem": (one.get("problem") or {}).get("hash") or (one.get("problem") or {}).get("name"),
            "target": one.get("target"),
            "case": answer.get("case"),
            "evidence": time["evidence"],
        }
        for one, answer, time in ((first, a, times[0]), (second, b, times[1]))
    ]
    differ = [name for key, name in names.items() if told[0][key] != told[1][key]]
    if differ:
        return {
            "factor": None,
            "apart": None,
            "why": f"Their times are of other {' and '.join(differ)}, so they are not compared.",
        }
    spans = [span for answer in (a, b) if (span := answer.get("modelled_us"))]
    apart = None
    if len(spans) == 2:
        apart = spans[1]["high"] < spans[0]["low"] or spans[0]["high"] < spans[1]["low"]
        why = "the intervals of the times are apart" if apart else "the intervals of the times overlap: no verdict"
    else:
        why = "two separate runs: a hint, no verdict. A benchmark with the first as its baseline times both in turns"
    return {"factor": times[0]["value"] / times[1]["value"], "apart": apart, "why": why}


def bounded(limits: Sequence[Moved], times_us: Sequence[float | None]) -> str | None:
    """A sentence: the largest bound of each, and of which time; None where one is not known."""
    largest = [max(((getattr(each, side) or 0.0, each.name) for each in limits), default=(0.0, "")) for side in SIDES]
    if not all(value for value, _ in largest):
        return None
    said = [
        f"{name} ({figure(value)} us{f' of its {figure(time)}' if time else ''})"
        for (value, name), time in zip(largest, times_us, strict=True)
    ]
    return f"The largest bound of the first is {said[0]}, of the second {said[1]}. Beyond it are waits and idle units."


def _counters(answer: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    kernels = answer.get("kernels")
    if not isinstance(kernels, list) or not kernels:
        return dict(answer.get("counters") or {})
    found: dict[str, Mapping[str, Any]] = {}
    for kernel in kernels:
        prefix = "" if len(kernels) == 1 else f"{kernel.get('name', '')}: "
        found |= {f"{prefix}{name}": each for name, each in (kernel.get("metrics") or {}).items()}
    return found


def _limits(answer: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {
        name.replace("_", " "): {**each, "unit": "us"}
        for name, each in (answer.get("limits_us") or {}).items()
        if each.get("value") is not None
    }


def _moved(a: Mapping[str, Mapping[str, Any]], b: Mapping[str, Mapping[str, Any]]) -> list[Moved]:
    return [
        Moved(
            name,
            str({**a, **b}[name].get("unit") or ""),
            str({**a, **b}[name].get("evidence") or ""),
            _value(a.get(name)),
            _value(b.get(name)),
        )
        for name in dict.fromkeys([*b, *a])
    ]


def _value(metric: Mapping[str, Any] | None) -> float | None:
    value = (metric or {}).get("value")
    return float(value) if isinstance(value, int | float) else None


def _because(side: Sorted) -> dict[str, str]:
    """What to cure; a row that is in order does not count as one that went or came."""
    return {str(each.get("finding", "")): str(each.get("because", "")) for each in side.found}


def _messages(answer: Mapping[str, Any]) -> dict[str, str]:
    """By what makes two findings the same one: not its line, which moves with the text."""
    return {
        f"{str(each.get('kind', '')).replace('_', ' ')}: {each.get('message', '')}": ""
        for each in answer.get("findings") or ()
    }


def _gone_and_come(a: Mapping[str, str], b: Mapping[str, str]) -> dict[str, list[tuple[str, str]]]:
    return {
        "gone": [(name, a[name]) for name in a if name not in b],
        "come": [(name, b[name]) for name in b if name not in a],
        "stayed": [(name, b[name]) for name in b if name in a],
    }
