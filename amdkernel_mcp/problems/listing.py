"""One line of a list of problems."""

from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.problems.signature import signature
from amdkernel_mcp.quoting import words_of
from amdkernel_mcp.results.problems import ListedProblem


def listed(name: str, problem: Problem, bundled: bool, shared_by: str | None) -> ListedProblem:
    """What a caller needs to choose it. `name`: what finds it; `shared_by`: the user who shared it with all."""
    title = words_of(problem.author, problem.title) if problem.author else problem.title
    return ListedProblem(name=name, title=title, bundled=bundled, shared_by=shared_by, signature=signature(problem))
