"""Whether the outputs of a measured run are right: a kernel can notice that it is measured and then do less.

A check says nothing of a run that it did not see. So every run that gives a time or a counter is judged like one of a
check, with the same reference and the same tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.checking.cases.case_plans import CasePlan
from amdkernel_mcp.checking.expected.reference import expected_outputs
from amdkernel_mcp.checking.judging.judge_report import judge_report
from amdkernel_mcp.checking.moved_inputs import conditioning_of

if TYPE_CHECKING:
    from amdkernel_mcp.checking.judging.judge import RunJudgement
    from amdkernel_mcp.compiler.compile import Compiled
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.launch.plan import LaunchPlan
    from amdkernel_mcp.problems.problem import Problem
    from amdkernel_mcp.runner_protocol.job import RunnerJob
    from amdkernel_mcp.runner_protocol.report import RunnerReport


def judge_measured(
    report: RunnerReport,
    *,
    job: RunnerJob,
    calls: Sequence[Call],
    sandbox: Sandbox,
    problem: Problem,
    plan: LaunchPlan,
    compiled: Compiled,
    cache_dir: Path | None,
) -> tuple[str, RunJudgement] | None:
    """The first case whose outputs are wrong, with its judgement; None when all are right.

    `report`: of `job`, each case to its end. `calls`: of each case that of its buffers, then those of `more_inputs`.
    Raises ProblemFileError, SandboxError.
    """
    expected = expected_outputs(sandbox, problem, calls, cache_dir=cache_dir)
    remaining = iter(calls)
    plans = []
    for run in job.cases:
        own = tuple(next(remaining) for _ in range(1 + len(run.more_inputs)))
        plans.append(CasePlan(own[0].case, own, run))
    conditioning = conditioning_of(sandbox, problem)
    judged = judge_report(problem, plan, compiled, plans, report, expected.outputs, conditioning, mode=job.mode)
    wrong = ((each.case.name, run) for each in judged for run in each.runs if run.verdict != "correct")
    return next(wrong, None)
