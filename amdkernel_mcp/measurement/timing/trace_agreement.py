"""Whether event times agree with a profiler's kernel trace, a second clock for the same launches. Pure.

A sample of event times spans several launches. In the trace it is the time from the start of its first launch to the
end of its last one, so that the gaps between launches are in both. What remains is the cost of the two events.

The trace also has what the events cannot show: how long the GPU worked. Where launches are shorter than launching them
takes, events measure the program that launches, and two kernels look alike.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from statistics import median
from typing import Literal

from amdkernel_mcp.measurement.timing.interleaved import candidate_first
from amdkernel_mcp.results.quantity import Interval
from amdkernel_mcp.runner_protocol.job import RunCase
from amdkernel_mcp.runner_protocol.report import PairsReport

LIMIT = 0.10
"""How far the median of the samples of a side may be from the trace's."""
MOST_GAPS = 0.25
"""Of the time between two events: with more of it without a launch, they are not the kernels' times. A choice."""
SIDES = ("this kernel", "the baseline")


@dataclass(frozen=True)
class TracedLaunch:
    """One launch in the trace."""

    kernel: str
    start_ns: int
    end_ns: int


@dataclass(frozen=True)
class Agreement:
    """What came out, as a sentence. `ratio`: event times / the trace's, its median, lowest and highest over the sides
    of all cases."""

    state: Literal["agrees", "disagrees", "not_measured"]
    sentence: str
    ratio: Interval = field(default_factory=Interval)
    busy_us: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """By case and side: how long the GPU worked on the launches of one call, without the gaps between them."""


def not_compared(why: str) -> Agreement:
    """Without a trace there is no agreement."""
    return Agreement("not_measured", why)


def agreement(
    cases: Sequence[RunCase],
    names: Sequence[str],
    pairs: Sequence[PairsReport],
    traces: Mapping[int, Sequence[TracedLaunch]],
    *,
    kernels: frozenset[str],
) -> Agreement:
    """Compare the pairs of each case with the trace of its process, in which each launch is in the order of its start.

    kernels: names of the launches to compare; a trace also has the runtime's own, which fill memory.
    """
    found: dict[tuple[str, int], float] = {}
    busy: dict[tuple[str, int], float] = {}
    for case, name, each in zip(cases, names, pairs, strict=True):
        launches = [launch for launch in traces.get(each.process, ()) if launch.kernel in kernels]
        wanted = sum(_launches(case, each)) * len(each.pairs_us)
        if len(launches) < wanted:
            return not_compared(f"the kernel trace has {len(launches)} of the {wanted} launches of case {name}")
        timed = launches[len(launches) - wanted :]
        ratios = _ratios(case, each, timed)
        if ratios is None:
            return not_compared(f"the kernel trace of case {name} has launches without a duration")
        found |= {(name, side): median(ratios[side]) for side in (0, 1)}
        busy |= {(name, side): median(worked) / each.batch for side, worked in enumerate(_worked_us(case, each, timed))}
    return replace(_judge(found), busy_us=busy)


def gap_shares(names: Sequence[str], pairs: Sequence[PairsReport], traced: Agreement) -> dict[tuple[str, int], float]:
    """By case and side: the share of the event times in which the GPU worked on none of the launches; none without a
    trace. The event times are those of the run without a profiler, which makes launching slower."""
    shares = {}
    for name, each in zip(names, pairs, strict=True):
        for side in (0, 1):
            took_us, worked_us = median(times[side] for times in each.pairs_us), traced.busy_us.get((name, side))
            if worked_us is not None and took_us > 0:
                shares[name, side] = max(0.0, 1 - worked_us / took_us)
    return shares


def launch_bound(shares: Mapping[tuple[str, int], float]) -> str | None:
    """Why the times are those of launching rather than of the kernels, if they are."""
    if not shares:
        return None
    (case, side), worst = max(shares.items(), key=lambda item: item[1])
    if worst <= MOST_GAPS:
        return None
    return (
        f"in {worst:.0%} of the time of {SIDES[side]} in case {case} the GPU works on none of its launches: that is "
        "the time of launching, so take a larger case"
    )


def _launches(case: RunCase, pairs: PairsReport) -> tuple[int, int]:
    """Launches in a sample of either side."""
    assert case.rival is not None
    return pairs.batch * len(case.launches), pairs.batch * len(case.rival.launches)


def _ratios(
    case: RunCase, pairs: PairsReport, launches: Sequence[TracedLaunch]
) -> tuple[list[float], list[float]] | None:
    """Event time / time in the trace of all samples of either side."""
    ratios: tuple[list[float], list[float]] = ([], [])
    for (side, event_us), traced_us in zip(_events(pairs), _spans_us(case, pairs, launches), strict=True):
        if traced_us <= 0 or event_us <= 0:
            return None
        ratios[side].append(event_us / traced_us)
    return ratios


def _order(number: int) -> tuple[int, int]:
    return (0, 1) if candidate_first(number) else (1, 0)


def _events(pairs: PairsReport) -> Iterator[tuple[int, float]]:
    for number, times in enumerate(pairs.pairs_us):
        for side in _order(number):
            yield side, times[side] * pairs.batch


def _spans_us(case: RunCase, pairs: PairsReport, launches: Sequence[TracedLaunch]) -> Iterator[float]:
    for _, sample in _samples(case, pairs, launches):
        yield (sample[-1].end_ns - sample[0].start_ns) / 1e3


def _worked_us(case: RunCase, pairs: PairsReport, launches: Sequence[TracedLaunch]) -> tuple[list[float], list[float]]:
    """The durations of the launches of all samples of either side, added up."""
    worked: tuple[list[float], list[float]] = ([], [])
    for side, sample in _samples(case, pairs, launches):
        worked[side].append(sum(launch.end_ns - launch.start_ns for launch in sample) / 1e3)
    return worked


def _samples(
    case: RunCase, pairs: PairsReport, launches: Sequence[TracedLaunch]
) -> Iterator[tuple[int, Sequence[TracedLaunch]]]:
    """The launches of each sample, and its side."""
    counts, begin = _launches(case, pairs), 0
    for number in range(len(pairs.pairs_us)):
        for side in _order(number):
            yield side, launches[begin : begin + counts[side]]
            begin += counts[side]


def _judge(found: Mapping[tuple[str, int], float]) -> Agreement:
    ratios = list(found.values())
    ratio = Interval(value=median(ratios), low=min(ratios), high=max(ratios))
    (case, side), worst = max(found.items(), key=lambda item: abs(log(item[1])))
    if abs(log(worst)) > log(1 + LIMIT):
        sentence = (
            f"the event times do not agree with rocprofv3's kernel trace within {LIMIT:.0%}: in case {case} those of "
            f"{SIDES[side]} are {worst:.2f} times as long as in the trace"
        )
        return Agreement("disagrees", sentence, ratio)
    sentence = (
        f"the event times are {ratio.low:.2f} to {ratio.high:.2f} times as long as in rocprofv3's kernel trace of one"
        " more run"
    )
    return Agreement("agrees", sentence, ratio)
