"""Runs whose arrays begin at odd addresses, of a kernel that has code for them though its problem promises none.

Without `align` an array begins at a multiple of 256 bytes, so the path behind `(size_t)x % 16` runs in no case. It is
run here all the same: whoever writes such a path means it to be right. What such a run shows counts only where it is
about that path: a kernel may rely on the promise elsewhere, and load 16 bytes at once or round an address down.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from amdkernel_mcp.problems.problem import ALIGNMENT, Case, Problem

if TYPE_CHECKING:
    from amdkernel_mcp.checking.cases.case_plans import CasePlan
    from amdkernel_mcp.checking.judging.judge_report import CaseJudgement

INSTRUCTIONS = 2_000_000
"""Of a plain run of a case that is run so: it runs with all seeds."""
_CASES = 2
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_POINTER = r"(?:std\s*::\s*)?u?intptr_t"
_INTEGER = rf"(?:{_POINTER}|(?:std\s*::\s*)?(?:size_t|u?int64_t)|unsigned\s+long(?:\s+long)?(?:\s+int)?|u?long)"


def _cast(to: str) -> str:
    return rf"(?:\(\s*{to}\s*\)|(?:reinterpret|static)_cast\s*<\s*{to}\s*>)"


_OF = r"\s*\(?\s*&?\s*[\w.]+(?:->\w+)?(?:\[[^\];]*\])?"
_LOW_BITS = r"(?:\s*[+|][^;{}&%?]*)?[\s)]*(?:&(?!&)(?!\s*~)|%)"
_TESTS = re.compile(
    rf"{_cast(_INTEGER)}{_OF}{_LOW_BITS}|=\s*{_cast(_POINTER)}{_OF}|__builtin_is_aligned|\bis_aligned\s*\("
)
_NAME = ", arrays at odd addresses"


def tests_addresses(source: str) -> bool:
    """Whether the source asks for the low bits of a number that a pointer may have been; `& ~15` only rounds down."""
    return _TESTS.search(_COMMENT.sub(" ", source)) is not None


def promises_addresses(problem: Problem) -> bool:
    """Whether an array begins where hipMalloc lets it, and could begin elsewhere."""
    return any(argument.align == ALIGNMENT for argument in problem.arrays)


def cases_at_odd_addresses(cases: Sequence[Case], instructions: Sequence[int]) -> tuple[Case, ...]:
    """The largest that are quick, or else the smallest; `instructions`: of a plain run of each."""
    ordered = sorted(range(len(cases)), key=lambda n: instructions[n])
    quick = [n for n in ordered if 0 < instructions[n] <= INSTRUCTIONS] or ordered[:1]
    return tuple(cases[n] for n in quick[-_CASES:])


def at_odd_addresses(problem: Problem, plans: Sequence[CasePlan]) -> list[CasePlan]:
    """The plans with arrays at any multiple of their element: half of the runs then have such addresses."""
    sizes = {argument.name: argument.dtype.bytes for argument in problem.arrays}
    return [
        replace(
            plan,
            case=replace(plan.case, name=plan.case.name + _NAME, drawn=True),
            run=replace(
                plan.run,
                buffers=tuple(
                    replace(each, align=sizes[each.name]) if each.align == ALIGNMENT and each.name in sizes else each
                    for each in plan.run.buffers
                ),
            ),
        )
        for plan in plans
    ]


def relies_on_the_promise(judged: Sequence[CaseJudgement]) -> bool:
    """Whether an access was misaligned: it is right at the addresses that are promised."""
    return any(finding.kind == "misaligned" for each in judged for run in each.runs for finding in run.findings)
