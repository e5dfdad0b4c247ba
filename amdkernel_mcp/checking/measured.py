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
from amdkernel_mcp.checking.expected.reference import expected_outputs, expected_part
from amdkernel_mcp.checking.judging.judge import around_outputs, is_right, tolerance_of
from amdkernel_mcp.checking.judging.judge_report import judge_report, layouts_of, written_of
from amdkernel_mcp.compiler.disassembly import communicates
from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.runner_protocol.turns import by_inputs

if TYPE_CHECKING:
    from amdkernel_mcp.checking.judging.judge import RunJudgement
    from amdkernel_mcp.checking.judging.sampled_outputs import Mask
    from amdkernel_mcp.compiler.compile import Compiled
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.launch.plan import LaunchPlan
    from amdkernel_mcp.problems.problem import Problem
    from amdkernel_mcp.runner_protocol.job import Mode, RunnerJob
    from amdkernel_mcp.runner_protocol.report import RunnerReport

MOST_ELEMENTS = 1 << 27
"""Of all inputs and outputs of a run of a sample: the reference computes all of them, and may take longer than the
emulation. On two cores a product of two 4096 x 4096 matrices takes 2.2 s with OpenBLAS."""


_NEAR_THE_END = 0.9
"""The last workgroup is in each sample: an honest kernel writes near the end of an output, one whose index is cut off
(`i & 0x3fffff`, an i32 that overflows) writes right values at other places and leaves the end as it was."""


@dataclass(frozen=True)
class MeasuredOutputs:
    """`wrong`: the first case whose outputs are wrong, with its judgement. `elements`: how many were judged.

    `beyond`: of a sample, the end of an output of which it wrote nothing; empty where there is none.
    """

    wrong: tuple[str, RunJudgement] | None
    elements: int
    beyond: str = ""


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
    remaining = iter(calls)
    plans = []
    for run in job.cases:
        own = tuple(next(remaining) for _ in range(1 + len(run.more_inputs)))
        plans.append(CasePlan(own[0].case, own, run))
    beyond = _end_left_out(report, plans, problem, compiled)
    if elements := _right_in_part(report, plans, sandbox, problem, plan, compiled, cache_dir, job.mode):
        return MeasuredOutputs(None, elements, beyond)
    expected = expected_outputs(sandbox, problem, calls, cache_dir=cache_dir)
    conditioning = conditioning_of(sandbox, problem, expected.outputs)
    judged = judge_report(problem, plan, compiled, plans, report, expected.outputs, conditioning, mode=job.mode)
    runs = [(each.case.name, run) for each in judged for run in each.runs]
    wrong = next((each for each in runs if each[1].verdict != "correct"), None)
    return MeasuredOutputs(wrong, sum(run.elements for _, run in runs), beyond)


def _end_left_out(report: RunnerReport, plans: Sequence[CasePlan], problem: Problem, compiled: Compiled) -> str:
    """The first output whose end a sample wrote nothing of, as the end of a sentence."""
    for planned, reported in zip(plans, report.cases, strict=True):
        written = written_of(problem, planned.calls[0], reported, compiled) or {}
        for argument in problem.outputs:
            mask = written.get(argument.name)
            if argument.role == "out" and mask is not None and (said := end_left_out(argument.name, mask)):
                return said
    return ""


def end_left_out(name: str, written: Mask) -> str:
    """What a sample left out at the end of an output; empty where it wrote near the end, or nothing at all."""
    import numpy as np

    indices = np.flatnonzero(written)
    if not indices.size or indices[-1] + 1 >= _NEAR_THE_END * written.size:
        return ""
    return f"nothing of {name} from element {indices[-1] + 1:,} of {written.size:,} on was written"


def _right_in_part(
    report: RunnerReport,
    plans: Sequence[CasePlan],
    sandbox: Sandbox,
    problem: Problem,
    plan: LaunchPlan,
    compiled: Compiled,
    cache_dir: Path | None,
    mode: Mode,
) -> int | None:
    """How many elements were judged where a sample ran and all that it wrote is right beyond doubt; else None.

    The reference then hands out these elements alone: 24,576 of the 16.8 million of a 4096 x 4096 product. Whatever is
    in doubt is judged again with all elements, so this never decides that a kernel is wrong.
    """
    import numpy as np

    elements = 0
    for planned, reported in zip(plans, report.cases, strict=True):
        call, arch = planned.calls[0], compiled.result.arch
        cut = by_inputs(planned.run, mode, reported)
        ran = cut.inputs[0]
        if ran is None or len(cut.inputs) > 1 or cut.returned:
            return None
        written = written_of(problem, call, ran, compiled)
        if written is None:
            return None
        layouts = layouts_of(problem, plan, planned.case)
        if any(around_outputs(ran, arch=arch, lines=compiled.lines, layouts=layouts)):
            return None
        wanted = {name: np.flatnonzero(mask) for name, mask in written.items()}
        if not all(indices.size for indices in wanted.values()):
            return None
        tolerances = {argument.name: tolerance_of(problem, argument) for argument in problem.outputs}
        rtols = {name: tolerance.rtol or 0.0 for name, tolerance in tolerances.items()}
        try:
            parts = expected_part(sandbox, problem, call, wanted, rtols, cache_dir=cache_dir)
        except ProblemFileError:
            return None  # the whole says it better, or manages without
        for argument in problem.outputs:
            part, tolerance = parts[argument.name], tolerances[argument.name]
            runs = [
                np.frombuffer(outputs[argument.name], argument.dtype.numpy)[wanted[argument.name]]
                for outputs in ran.outputs
            ]
            if not is_right(argument, runs, part.values, part.scale, tolerance=tolerance):
                return None
            elements += part.values.size
    return elements
