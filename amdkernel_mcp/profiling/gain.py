"""How many times as fast a kernel may be without what a finding names, as an interval that no next bound contradicts.

A cure relieves some units and leaves the others as they are: what these need is the least that the cured kernel takes,
whatever the finding costs. Traffic falls to the compulsory bytes at most, and a launch costs what it costs.
`tests/profiling/test_gain.py` applies the cures and compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from amdkernel_mcp.measurement.roofline import Resource
from amdkernel_mcp.measurement.time_interval import LAUNCH_US
from amdkernel_mcp.profiling.rules.answer import Found
from amdkernel_mcp.profiling.rules.facts import Facts
from amdkernel_mcp.profiling.rules.rule import Rule
from amdkernel_mcp.results.kernels import Focus, Span

MOST_SAVED = 0.95
"""Of the modelled time: no finding promises more than twenty times."""

_INSTRUCTIONS: tuple[Resource, ...] = ("vector_alu", "scalar_unit", "wave_issue")
RELIEVES: Mapping[Focus, tuple[Resource, ...]] = {
    "memory": ("memory", "infinity_cache", "l2_cache", "l1_cache"),
    "lds": ("lds", *_INSTRUCTIONS),
    "instructions": _INSTRUCTIONS,
    "occupancy": ("wave_issue",),
    "launch": (),
}
"""The bounds that fall with the cure of a finding, by its topic; a rule may add others. Launches: see `_least_us`."""


def capped(rule: Rule, answer: Found, facts: Facts) -> Found | None:
    """The finding with no more cost than the next bound leaves it; None where that leaves nothing.

    A queue that is longer than the modelled time is in no bound, and stays as it is.
    """
    if not 0 < answer.cost_us <= facts.time_us:
        return answer
    left_us = facts.time_us - _least_us(rule, facts)
    most_us = min(max(answer.cost_us, answer.most_us), left_us)
    return replace(answer, cost_us=min(answer.cost_us, left_us), most_us=most_us) if left_us > 0 else None


def gain(rule: Rule, answer: Found, facts: Facts) -> Span | None:
    """The estimated cost as a part of the shortest and of the longest time that the kernel may take.

    Both have the launches in them, so that a kernel which is shorter than its launch cannot gain much. None where
    nothing is estimated. `answer`: as `capped` returns it.
    """
    cost_us = min(answer.cost_us, facts.interval.high_us)  # no finding costs more than the kernel takes
    saved_us = min(cost_us, MOST_SAVED * facts.time_us)
    if saved_us <= 0:
        return None
    launches_us = LAUNCH_US * len(facts.dispatches)
    longest_us = max(facts.interval.high_us, facts.time_us + launches_us)
    if cost_us > facts.time_us:  # a queue that the modelled time does not have: it may be all of the time, or nothing
        likely_us, left_us = cost_us, max((1 - MOST_SAVED) * cost_us, min(_least_us(rule, facts), cost_us))
    else:
        likely_us = facts.time_us
        left_us = facts.time_us - min(max(answer.most_us, saved_us), MOST_SAVED * facts.time_us)
    low, high = longest_us / (longest_us - saved_us), (likely_us + launches_us) / (left_us + launches_us)
    return Span(low=_digits(min(low, high)), high=_digits(high))


def _least_us(rule: Rule, facts: Facts) -> float:
    """What the bounds that the cure does not touch need; of a launch, its bounds if every unit had as much work."""
    if rule.topic == "launch":
        return facts.roof_if_even_us()
    return facts.roof_relieved_us(*RELIEVES[rule.topic], *rule.relieves_also)


def _digits(value: float) -> float:
    return float(f"{value:.2g}")
