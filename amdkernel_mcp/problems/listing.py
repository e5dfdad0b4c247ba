"""One line of a list of problems."""

from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.problems.signature import signature
from amdkernel_mcp.results.problems import ListedProblem


def listed(problem: Problem, bundled: bool, shared_by: str | None) -> ListedProblem:
    """What a caller needs to choose it. `shared_by`: the user who shared it with all."""
    return ListedProblem(
        name=problem.name, title=problem.title, bundled=bundled, shared_by=shared_by, signature=signature(problem)
    )
