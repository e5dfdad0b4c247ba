"""Whether the outputs of a measured run are right: a kernel can notice that it is measured and then do less.

A check says nothing of a run that it did not see. So every run that gives a time or a counter is judged like one of a
check, with the same reference and the same tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.check import judge_calls
from amdkernel_mcp.checking.inputs import make_inputs
from amdkernel_mcp.checking.reference import Call, expected_outputs

if TYPE_CHECKING:
    from amdkernel_mcp.checking.judge import RunJudgement
    from amdkernel_mcp.compiler.compile import Compiled
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.launch.plan import LaunchPlan
    from amdkernel_mcp.problems.problem import Case, Problem
    from amdkernel_mcp.runner_protocol.report import RunnerReport


def judge_measured(
    report: RunnerReport,
    *,
    cases: Sequence[Case],
    seed: int,
    sandbox: Sandbox,
    problem: Problem,
    plan: LaunchPlan,
    compiled: Compiled,
    cache_dir: Path | None,
) -> tuple[str, RunJudgement] | None:
    """The first case whose outputs are wrong, with its judgement; None when all are right.

    `report`: of a run of `cases` with the inputs of `seed`, each to its end. Raises ProblemFileError, SandboxError.
    """
    calls = [Call(case, seed, make_inputs(problem, case, seed=seed)) for case in cases]
    expected = expected_outputs(sandbox, problem, calls, cache_dir=cache_dir)
    judged = judge_calls(problem, plan, compiled, calls, report, expected.outputs)
    wrong = (pair for pair in zip(cases, judged, strict=True) if pair[1].verdict != "correct")
    found = next(wrong, None)
    return (found[0].name, found[1]) if found else None
