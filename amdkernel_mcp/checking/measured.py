"""Whether the outputs of a measured run are right: a kernel can notice that it is measured and then do less.

A check says nothing of a run that it did not see. So every run that gives a time or a counter is judged like one of a
check, with the same reference and the same tolerance. If a sample of the workgroups ran, what it wrote is judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.checking.cases.case_plans import CasePlan
from amdkernel_mcp.checking.conditioning import conditioning_of
from amdkernel_mcp.checking.expected.reference import expected_outputs
from amdkernel_mcp.checking.judging.judge_report import judge_report
from amdkernel_mcp.compiler.disassembly import communicates

if TYPE_CHECKING:
    from amdkernel_mcp.checking.judging.judge import RunJudgement
    from amdkernel_mcp.compiler.compile import Compiled
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.launch.plan import LaunchPlan
    from amdkernel_mcp.problems.problem import Problem
    from amdkernel_mcp.runner_protocol.job import RunnerJob
    from amdkernel_mcp.runner_protocol.report import RunnerReport

MOST_ELEMENTS = 1 << 26
"""Of all inputs and outputs of a run of a sample: the reference computes all of them, and may take longer than the
emulation. On two cores a product of two 4096 x 4096 matrices takes 2.2 s with OpenBLAS."""


@dataclass(frozen=True)
class MeasuredOutputs:
    """`wrong`: the first case whose outputs are wrong, with its judgement. `elements`: how many were judged."""

    wrong: tuple[str, RunJudgement] | None
    elements: int


def why_not_judged(problem: Problem, compiled: Compiled, calls: Sequence[Call]) -> str | None:
    """Why what a sample of the workgroups wrote cannot be judged, as the end of a sentence; None where it can.

    `calls`: of all cases that were measured.
    """
    if communicates(compiled.disassembly):
        return "by atomics, several workgroups may write an element"
    if sum(prod(call.case.shape_of(argument)) for call in calls for argument in problem.arrays) > MOST_ELEMENTS:
        return f"the arrays have more than {MOST_ELEMENTS:,} elements"
    return None


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
) -> MeasuredOutputs:
    """Whether the outputs are right.

    `report`: of `job`, each case to its end. `calls`: of each case that of its buffers, then those of `more_inputs`.
    Raises ProblemFileError, SandboxError.
    """
    expected = expected_outputs(sandbox, problem, calls, cache_dir=cache_dir)
    remaining = iter(calls)
    plans = []
    for run in job.cases:
        own = tuple(next(remaining) for _ in range(1 + len(run.more_inputs)))
        plans.append(CasePlan(own[0].case, own, run))
    conditioning = conditioning_of(sandbox, problem, expected.outputs)
    judged = judge_report(problem, plan, compiled, plans, report, expected.outputs, conditioning, mode=job.mode)
    runs = [(each.case.name, run) for each in judged for run in each.runs]
    wrong = next((each for each in runs if each[1].verdict != "correct"), None)
    return MeasuredOutputs(wrong, sum(run.elements for _, run in runs))
