"""The judgements of all cases → the answer of a check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.judging.judge import judge_case
from amdkernel_mcp.counted import counted
from amdkernel_mcp.results.kernels import CaseResult, CheckResult, Finding

if TYPE_CHECKING:
    from amdkernel_mcp.checking.expected.reference import Array
    from amdkernel_mcp.checking.judging.judge_report import CaseJudgement
    from amdkernel_mcp.problems.problem import Problem

_MOST_FINDINGS = 8
_MOST_NOTES = 4
_NOT_DRAWN = "only the listed shapes were checked: problem.toml has no [ranges] within which others could be drawn"


def summarise(
    problem: Problem,
    judged: Sequence[CaseJudgement],
    expected: Sequence[dict[str, Array]],
    *,
    seeds: int,
    further: Sequence[CaseJudgement] = (),
) -> CheckResult:
    """The verdict is that of the worst case, and the reason and the first findings are.

    `seeds`: inputs per case; of the cases `further`, which may be none, one.
    """
    praised = [judge_case(each.case, each.runs) for each in judged]
    cases = [*praised, *(judge_case(each.case, each.runs) for each in further)]
    judged = [*judged, *further]
    worst = max(judged, key=lambda each: each.worst.gravity[:-1])
    findings = _distinct([worst, *(each for each in judged if each is not worst)])
    where = f", {worst.worst.inputs}" if worst.worst.inputs else ""
    reason = f"case {worst.case.name}{where}: {worst.worst.reason}"
    verdict = worst.worst.verdict
    if verdict == "correct":
        reason = _praise(praised, seeds)
        if further:
            reason += f"; {counted(len(further), 'more drawn case')} with one seed"
        if suspicion := _suspicion(expected):
            findings.append(suspicion)
            reason += f"; but {suspicion.message}"
    notes = list(dict.fromkeys(note for each in judged for run in each.runs for note in run.notes))[:_MOST_NOTES]
    if not problem.ranges and any(case.values for case in problem.cases):
        notes.append(_NOT_DRAWN)
    return CheckResult(verdict=verdict, reason=reason, cases=cases, findings=findings[:_MOST_FINDINGS], notes=notes)


def _praise(cases: Sequence[CaseResult], seeds: int) -> str:
    held_out = sum(case.held_out and not case.drawn for case in cases)
    drawn = sum(case.drawn for case in cases)
    counts = [f"{held_out} held out"] * (held_out > 0) + [f"{drawn} drawn"] * (drawn > 0)
    hidden = f" ({', '.join(counts)})" if counts else ""
    error = max((case.max_rel_err or 0.0 for case in cases), default=0.0)
    subject = f"all {len(cases)} cases{hidden} are" if len(cases) > 1 else f"the only case{hidden} is"
    each = " each" if len(cases) > 1 else ""
    return f"{subject} correct with {counted(seeds, 'seed')}{each}; largest relative error {error:.2g}"


def _distinct(judged: Sequence[CaseJudgement]) -> list[Finding]:
    """One finding for each kind and line: the first, which is of the first of these cases that has it."""
    first: dict[tuple[str, int | None], Finding] = {}
    for each in judged:
        for finding in each.findings:
            first.setdefault((finding.kind, finding.line), finding)
    return list(first.values())


def _suspicion(expected: Sequence[dict[str, Array]]) -> Finding | None:
    """A finding when one constant would pass every case of an output: such a problem proves nothing."""
    import numpy as np

    for name in expected[0]:
        values = [outputs[name] for outputs in expected]
        first = values[0].flat[0]
        if sum(value.size for value in values) > len(values) and all(np.all(value == first) for value in values):
            message = f"the reference expects {first} everywhere in {name}, so a constant would pass"
            return Finding(kind="suspicious", message=message)
    return None
