"""The order of the rows of a sweep, with the ties. Pure.

A row is compared with the default values and with the best row by the rules of a benchmark, so that a ranking claims
nothing that `benchmark` would refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from amdkernel_mcp.engine.tuning.outcome import Outcome, refused
from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.benchmark import benchmark
from amdkernel_mcp.measurement.modelled import modelled_time
from amdkernel_mcp.measurement.timing.statistics import Estimate
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckVerdict
from amdkernel_mcp.results.quantity import Interval

_COMPARED = frozenset({"faster", "slower", "inconclusive"})


@dataclass(frozen=True)
class RankedRow:
    """A row with its place. `answer`: what a benchmark of it says, against the default values if these have a time."""

    outcome: Outcome
    answer: BenchmarkResult
    time: Estimate | None = None
    rank: int | None = None
    tie: bool = False


def rank_counted(outcomes: Sequence[Outcome], *, gpu: Gpu, target: str) -> list[RankedRow]:
    """The rows of an emulated target, best first; `outcomes` begins with the default values.

    The best row is the one with the smallest upper estimate of those that tie with the smallest modelled time.
    """
    compare = partial(benchmark, gpu=gpu, target=target, emulated=True)
    rows = []
    base = None
    for index, outcome in enumerate(outcomes):
        row = _counted_row(outcome, base, gpu, target)
        if index == 0 and row.outcome.counts:
            base = row.outcome
        rows.append(row)

    def ties(a: RankedRow, b: RankedRow) -> bool:
        assert a.outcome.side is not None
        return compare(candidate=a.outcome.side, baseline=b.outcome.side).verdict != "faster"

    placed = [row for row in rows if row.time]
    if not placed:
        return rows
    placed.sort(key=_least)
    first = placed[0]
    near = [row for row in placed if row is first or ties(first, row)]
    best = min(near, key=_most)
    placed.remove(best)
    tied = {id(row) for row in placed if ties(best, row)}
    return _numbered([best, *placed], lambda row: id(row) in tied) + [row for row in rows if not row.time]


def rank_timed(outcomes: Sequence[Outcome], *, target: str) -> list[RankedRow]:
    """The rows of a GPU, best first: those that were timed longest, by their speed-up over the default values.

    The default was timed next to all of them: it comes before the first that is not faster.
    """
    rows = [_timed_row(outcome, target, default=index == 0) for index, outcome in enumerate(outcomes)]
    placed = [row for row in rows if row.outcome.counts]
    if not placed:
        return rows
    own = [row for row in placed if not row.outcome.rung]
    placed = sorted(
        (row for row in placed if row.outcome.rung), key=lambda row: (-row.outcome.rung, -_speed(row).value)
    )
    slower = next((at for at, row in enumerate(placed) if _speed(row).value <= 1), len(placed))
    placed[slower:slower] = own
    best = _speed(placed[0])
    return _numbered(placed, lambda row: row is not placed[0] and _speed(row).high >= best.low) + [
        row for row in rows if not row.outcome.counts
    ]


def _numbered(placed: Sequence[RankedRow], tied: Callable[[RankedRow], bool]) -> list[RankedRow]:
    return [replace(row, rank=number, tie=tied(row)) for number, row in enumerate(placed, 1)]


def _counted_row(outcome: Outcome, base: Outcome | None, gpu: Gpu, target: str) -> RankedRow:
    if outcome.side is None or not outcome.counts:
        return failed_row(outcome, target)
    answer = benchmark(
        candidate=outcome.side, baseline=base.side if base else None, gpu=gpu, target=target, emulated=True
    )
    if answer.verdict not in _COMPARED:
        verdict: CheckVerdict = "not_measured" if answer.verdict == "not_measured" else "invalid"
        return failed_row(refused(outcome, verdict, answer.reason), target)
    named = answer.model_copy(update={"reason": f"{outcome.name}: {answer.reason}"})
    return RankedRow(outcome, named, modelled_time(outcome.side, gpu))


def _timed_row(outcome: Outcome, target: str, *, default: bool) -> RankedRow:
    answer = outcome.timed
    if answer is None or not outcome.counts:
        return failed_row(outcome, target)
    reason = "the default values, to which the others are compared" if default else answer.reason
    return RankedRow(outcome, answer.model_copy(update={"reason": f"{outcome.name}: {reason}"}))


def failed_row(outcome: Outcome, target: str) -> RankedRow:
    """A row without a time and a rank."""
    answer = BenchmarkResult(
        verdict=outcome.verdict if outcome.verdict != "correct" else "not_measured",
        reason=f"{outcome.name}: {outcome.reason}",
        target=target,
        findings=list(outcome.findings),
    )
    return RankedRow(outcome, answer)


def _least(row: RankedRow) -> float:
    assert row.time is not None
    return row.time.value


def _most(row: RankedRow) -> float:
    assert row.time is not None
    return row.time.high


def _speed(row: RankedRow) -> Estimate:
    found: Interval = row.answer.speedup
    if found.value is None or found.low is None or found.high is None:
        return Estimate(1.0, 1.0, 1.0)
    return Estimate(found.value, found.low, found.high)
