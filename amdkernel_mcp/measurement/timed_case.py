"""The case that counts: benchmark, tune and profile are all about it, and name it. Pure.

A check runs small cases, which show mistakes soon. What is fast there need not be fast where the GPU is full, so times
are those of the problem's cases with `profile = true`, or of its largest announced one.
"""

from collections.abc import Sequence

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.expressions import ExpressionError
from amdkernel_mcp.problems.problem import Case, Problem

_MOST_NAMED = 8


def timed_cases(problem: Problem, name: str | None = None) -> tuple[Case, ...]:
    """The cases that are timed, or the one that `name` chooses: its name, or enough of its `size=value` parts.

    Raises InputError where no announced case, or more than one, has these parts.
    """
    if name is not None:
        return (_chosen(problem, name),)
    if problem.profile_cases:
        return problem.profile_cases
    return (largest_case([case for case in problem.cases if not case.held_out] or problem.cases, problem),)


def largest_case(cases: Sequence[Case], problem: Problem) -> Case:
    """The case whose arrays have most elements; the first of those."""
    return max(cases, key=lambda case: _elements(problem, case))


def name_of_cases(cases: Sequence[Case]) -> str:
    """Their names as an answer has them."""
    return "; ".join(case.name for case in cases)


def what_is_timed(problem: Problem) -> str:
    """The cases that count, for whoever made the problem; with what is missing where none of them has `profile`."""
    name = name_of_cases(timed_cases(problem))
    if problem.profile_cases:
        return name
    return f"{name}: the largest, because no case has `profile = true`; add one that fills the GPU"


def _chosen(problem: Problem, name: str) -> Case:
    offered = [*problem.profile_cases, *(case for case in problem.cases if not case.held_out)]
    if exact := [case for case in offered if case.name == name.strip()]:
        return exact[0]
    wanted = {part.strip() for part in name.split(",")}
    found = [case for case in offered if wanted <= {part.strip() for part in case.name.split(",")}]
    if len(found) == 1:
        return found[0]
    names = "; ".join(case.name for case in offered[:_MOST_NAMED])
    raise InputError(
        f"{'several cases have' if found else 'no announced case has'} `{name[:100]}`", hint=f"the cases are: {names}"
    )


def _elements(problem: Problem, case: Case) -> int:
    total = 0
    for argument in problem.arrays:
        elements = 1
        try:
            for length in case.shape_of(argument):
                elements *= length
        except ExpressionError:
            continue
        total += elements
    return total
