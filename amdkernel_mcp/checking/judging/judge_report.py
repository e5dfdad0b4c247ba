"""The runner's report on all cases → judgements: its turns are matched with the calls that they ran."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.judging.judge import RunJudgement, has_race, judge_run, no_scales, worst_of
from amdkernel_mcp.checking.judging.sampled_outputs import narrowest_store, written_elements
from amdkernel_mcp.findings.faults import Layout
from amdkernel_mcp.problems.problem import Case, Problem
from amdkernel_mcp.results.kernels import Finding
from amdkernel_mcp.runner_protocol.turns import by_inputs

if TYPE_CHECKING:
    from amdkernel_mcp.checking.cases.call import Call
    from amdkernel_mcp.checking.cases.case_plans import CasePlan
    from amdkernel_mcp.checking.expected.reference import Array
    from amdkernel_mcp.checking.judging.judge import LeastScales
    from amdkernel_mcp.checking.judging.sampled_outputs import Mask
    from amdkernel_mcp.compiler.compile import Compiled
    from amdkernel_mcp.launch.plan import LaunchPlan
    from amdkernel_mcp.runner_protocol.job import Mode
    from amdkernel_mcp.runner_protocol.report import CaseReport, RunnerReport

    Conditioning = Callable[[Call, Mapping[str, Array], Mapping[str, float]], Mapping[str, float | Array]]
    """The least scale of outputs, from a call, its expected outputs and the largest error of each wrong output."""

_ABOUT_VALUES = ("wrong_result", "nan_or_inf", "not_written")


@dataclass(frozen=True)
class CaseJudgement:
    """One case: a judgement for each of its inputs that ran, in order."""

    case: Case
    runs: tuple[RunJudgement, ...]

    @property
    def findings(self) -> list[Finding]:
        """The findings of all runs, those of the worst one first.

        Findings about values are only of the worst run, or else of the first inputs: these run several times.
        """
        worst = self.worst
        others = [finding for run in self.runs if run is not worst for finding in run.findings]
        return [*worst.findings, *(f for f in others if f.kind not in _ABOUT_VALUES or not worst.findings)]

    @property
    def worst(self) -> RunJudgement:
        """The run that the case's verdict and reason are about."""
        return worst_of(self.runs)


def judge_report(
    problem: Problem,
    plan: LaunchPlan,
    compiled: Compiled,
    plans: Sequence[CasePlan],
    report: RunnerReport,
    expected: Sequence[dict[str, Array]],
    conditioning: Conditioning,
    *,
    mode: Mode = "check",
) -> list[CaseJudgement]:
    """One judgement for each case. `expected`: of each call of each case, in order."""
    remaining = iter(expected)
    judged: list[CaseJudgement] = []
    for each, ran in zip(plans, report.cases, strict=True):
        values = [next(remaining) for _ in each.calls]
        wrong = any(run.verdict != "correct" for done in judged for run in done.runs)  # then no scale changes that
        judged.append(_judge_case(problem, plan, compiled, each, ran, values, None if wrong else conditioning, mode))
    return judged


def _judge_case(
    problem: Problem,
    plan: LaunchPlan,
    compiled: Compiled,
    planned: CasePlan,
    report: CaseReport,
    expected: Sequence[dict[str, Array]],
    conditioning: Conditioning | None,
    mode: Mode,
) -> CaseJudgement:
    arch, lines, case = compiled.result.arch, compiled.lines, planned.case
    layouts = layouts_of(problem, plan, case)
    cut = by_inputs(planned.run, mode, report)
    returned = cut.returned.outputs[0] if cut.returned and cut.returned.outputs else None
    runs: list[RunJudgement] = []
    for number, each in enumerate(cut.inputs):
        if each is None:
            continue
        again = returned if number == 0 else None
        wrong = any(run.verdict != "correct" for run in runs)
        scales: LeastScales = no_scales
        if conditioning and not wrong:
            scales = partial(conditioning, planned.calls[number], expected[number])
        run = judge_run(
            problem, case, each, expected[number], arch=arch, lines=lines, layouts=layouts, returned=again,
            least_scales=scales,
            written=written_of(problem, planned.calls[number], each, compiled),
        )  # fmt: skip
        name = planned.calls[number].what or f"inputs {number + 1} of {len(cut.inputs)}"
        runs.append(replace(run, inputs=name) if number else run)
    if cut.returned:  # what it left is judged with the first run; here it is for what the checks saw, and for a stop
        last = judge_run(problem, case, cut.returned, expected[0], arch=arch, lines=lines, layouts=layouts)
        if _says_more_than_values(last):
            runs.append(replace(last, inputs="the first inputs again"))
    if runs and has_race(runs[0].findings):  # the others ran on all cores: chance decides which values are wrong there
        runs[1:] = [run for run in runs[1:] if _says_more_than_values(run)]
    return CaseJudgement(case, tuple(runs))


def _says_more_than_values(run: RunJudgement) -> bool:
    return any(finding.kind not in _ABOUT_VALUES for finding in run.findings)


def written_of(problem: Problem, call: Call, report: CaseReport, compiled: Compiled) -> dict[str, Mask] | None:
    """Of a run of a sample of the workgroups, what it wrote; None where all ran."""
    if not report.outputs or not any(record.sampled for record in report.dispatches):
        return None
    return written_elements(problem, call, report.outputs[0], store_bytes=narrowest_store(compiled.disassembly))


def layouts_of(problem: Problem, plan: LaunchPlan, case: Case) -> dict[str, Layout]:
    layouts = {argument.name: Layout(argument.dtype.bytes, case.shape_of(argument)) for argument in problem.arrays}
    values = plan.values(case.values)
    for space in plan.workspaces:
        layouts[space.name] = Layout(space.dtype.bytes, tuple(dimension.value(values) for dimension in space.shape))
    return layouts
