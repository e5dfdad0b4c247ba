"""The diagnosis of emulated kernels: what to improve, and what is ruled out."""

from collections.abc import Sequence

from amdkernel_mcp.extensions import installed
from amdkernel_mcp.profiling.brief import in_full
from amdkernel_mcp.profiling.gain import capped, gain
from amdkernel_mcp.profiling.remains import what_remains
from amdkernel_mcp.profiling.rules.answer import RULED_OUT, Found, RuledOut, docs_of, finding
from amdkernel_mcp.profiling.rules.emulated import RULES
from amdkernel_mcp.profiling.rules.facts import Facts
from amdkernel_mcp.profiling.rules.rule import Rule
from amdkernel_mcp.profiling.rules.simulation import by_simulation, ranked_us
from amdkernel_mcp.results.kernels import Diagnosis, Focus

LEAST_GAIN = 1.05
"""A finding that cannot promise this much is left out."""


LITTLE_OF_A_SYMPTOM = 1.2
"""Times as fast, of two digits: a symptom that promises no more comes after what the time consists of."""


def diagnose(kernels: Sequence[Facts], focus: Focus | None = None) -> list[Diagnosis]:
    """Findings of all kernels, what may cost most time first; of kernels without any, what their time consists of,
    before symptoms that cost little; last what is ruled out of each, and why.

    `focus`: only rules of this topic. Raises InfrastructureError for rules of a package that cannot be loaded.
    """
    named = len(kernels) > 1
    rules = [rule for rule in (*RULES, *installed("rules", Rule)) if focus in (None, rule.topic)]
    found: list[tuple[float, Diagnosis]] = []
    remaining: list[Diagnosis] = []
    little: list[Diagnosis] = []
    excluded: list[Diagnosis] = []
    for facts in sorted(kernels, key=lambda facts: -facts.model.time_us):
        prefix = f"{facts.largest_dispatch.kernel}: " if named else ""
        answers = [(rule, answer) for rule in rules if (answer := by_simulation(rule, facts)) is not None]
        found_here = [(rule, capped(rule, each, facts)) for rule, each in answers if isinstance(each, Found)]
        costs = [(rule, each) for rule, each in found_here if each is not None]
        all_found = [each for _, each in costs]
        rows = [(each, row) for rule, each in costs if _promises(row := _row(prefix, rule, each, facts))]
        small = [row for each, row in rows if each.symptom and row.gain and row.gain.high <= LITTLE_OF_A_SYMPTOM]
        found += [(ranked_us(each, all_found), row) for each, row in rows if row not in small]
        little += small
        much = in_full([row for _, row in rows if row not in small])
        if focus is None and not much and (left := what_remains(facts, prefix)):
            remaining.append(left)
        if ruled_out := [answer for _, answer in answers if isinstance(answer, RuledOut)]:
            excluded.append(_ruled_out(prefix, ruled_out))
    found.sort(key=lambda each: -each[0])
    return [row for _, row in found] + remaining + little + excluded


def _promises(row: Diagnosis) -> bool:
    return row.gain is None or row.gain.high >= LEAST_GAIN


def _row(prefix: str, rule: Rule, answer: Found, facts: Facts) -> Diagnosis:
    return answer.row.model_copy(
        update={
            "finding": prefix + answer.row.finding,
            "topic": rule.topic,
            "docs": docs_of(rule.section),
            "refuted_by": rule.refuted_by,
            "lines": rule.lines(facts.lines),
            "gain": gain(rule, answer, facts) if rule.has_gain and answer.has_gain else None,
        }
    )


def _ruled_out(prefix: str, answers: Sequence[RuledOut]) -> Diagnosis:
    return finding(
        f"{prefix}{RULED_OUT}: {', '.join(answer.what for answer in answers)}",
        because="\n".join(f"{answer.what}: {answer.because}" for answer in answers),
        advice="nothing here: these do not limit this kernel",
    )
