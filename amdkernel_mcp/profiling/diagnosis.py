"""The diagnosis of emulated kernels: what to improve, and what is ruled out."""

from collections.abc import Sequence

from amdkernel_mcp.extensions import installed
from amdkernel_mcp.measurement.time_interval import LAUNCH_US
from amdkernel_mcp.profiling.rules.answer import RULED_OUT, Found, RuledOut, docs_of, finding
from amdkernel_mcp.profiling.rules.emulated import RULES
from amdkernel_mcp.profiling.rules.facts import Facts
from amdkernel_mcp.profiling.rules.rule import Rule
from amdkernel_mcp.profiling.rules.simulation import by_simulation, ranked_us
from amdkernel_mcp.results.kernels import Diagnosis, Focus, Span

MOST_SAVED = 0.95
"""Of the modelled time: no finding promises more than twenty times."""

LEAST_GAIN = 1.05
"""A finding that cannot promise this much is left out."""


def diagnose(kernels: Sequence[Facts], focus: Focus | None = None) -> list[Diagnosis]:
    """Findings of all kernels, what may cost most time first; then, for each kernel, what is ruled out, and why.

    `focus`: only rules of this topic. Raises InfrastructureError for rules of a package that cannot be loaded.
    """
    named = len(kernels) > 1
    rules = [rule for rule in (*RULES, *installed("rules", Rule)) if focus in (None, rule.topic)]
    found: list[tuple[float, Diagnosis]] = []
    excluded: list[Diagnosis] = []
    for facts in sorted(kernels, key=lambda facts: -facts.model.time_us):
        prefix = f"{facts.largest_dispatch.kernel}: " if named else ""
        answers = [(rule, answer) for rule in rules if (answer := by_simulation(rule, facts)) is not None]
        costs = [(rule, each) for rule, each in answers if isinstance(each, Found)]
        all_found = [each for _, each in costs]
        found += [(ranked_us(each, all_found), _row(prefix, rule, each, facts)) for rule, each in costs]
        if ruled_out := [answer for _, answer in answers if isinstance(answer, RuledOut)]:
            excluded.append(_ruled_out(prefix, ruled_out))
    found.sort(key=lambda each: -each[0])
    return [row for _, row in found if row.gain is None or row.gain.high >= LEAST_GAIN] + excluded


def _row(prefix: str, rule: Rule, answer: Found, facts: Facts) -> Diagnosis:
    return answer.row.model_copy(
        update={
            "finding": prefix + answer.row.finding,
            "topic": rule.topic,
            "docs": docs_of(rule.section),
            "refuted_by": rule.refuted_by,
            "lines": rule.lines(facts.lines),
            "gain": _gain(answer.cost_us, facts) if rule.has_gain and answer.has_gain else None,
        }
    )


def _gain(cost_us: float, facts: Facts) -> Span | None:
    """The estimated cost as a part of the shortest and of the longest time that the kernel may take.

    Both have the launches in them, so that a kernel which is shorter than its launch cannot gain much. None where
    nothing is estimated.
    """
    cost_us = min(cost_us, facts.interval.high_us)  # no finding costs more than the kernel takes
    saved = min(cost_us, MOST_SAVED * facts.time_us)
    if saved <= 0:
        return None
    launches_us = LAUNCH_US * len(facts.dispatches)
    longest_us = max(facts.interval.high_us, facts.time_us + launches_us)
    if cost_us > facts.time_us:  # a queue that the modelled time does not have: it may be all of the time, or nothing
        likely_us, gone = cost_us + launches_us, MOST_SAVED * cost_us
    else:
        likely_us, gone = facts.time_us + launches_us, saved
    return Span(low=_digits(longest_us / (longest_us - saved)), high=_digits(likely_us / (likely_us - gone)))


def _digits(value: float) -> float:
    return float(f"{value:.2g}")


def _ruled_out(prefix: str, answers: Sequence[RuledOut]) -> Diagnosis:
    return finding(
        f"{prefix}{RULED_OUT}: {', '.join(answer.what for answer in answers)}",
        because="\n".join(f"{answer.what}: {answer.because}" for answer in answers),
        advice="nothing here: these do not limit this kernel",
    )
