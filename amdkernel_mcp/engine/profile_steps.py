"""The steps of a profile: run the announced cases, explain the counts, compare with another kernel or a recording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.cache_folder import answers_folder
from amdkernel_mcp.engine.kernel_steps import KernelSteps
from amdkernel_mcp.engine.known_steps import KnownSteps
from amdkernel_mcp.engine.prepared_kernel import PreparedKernel, cannot_launch, side_of
from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.measurement.modelled import modelled_ratio
from amdkernel_mcp.measurement.side import Side
from amdkernel_mcp.measurement.timed_case import name_of_cases, timed_cases
from amdkernel_mcp.measurement.timing.statistics import Estimate
from amdkernel_mcp.profiling.comparison import comparison
from amdkernel_mcp.profiling.kept_details import keep_details
from amdkernel_mcp.profiling.options import ProfileOptions
from amdkernel_mcp.profiling.profile import answer_of, details_of, facts_of
from amdkernel_mcp.profiling.sampled import judged_outputs
from amdkernel_mcp.results.kernels import Finding, ProfileResult
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.problems.problem import Problem
    from amdkernel_mcp.profiling.detail import KernelDetail

OnDetail = Callable[[Sequence["KernelDetail"]], None]


def no_detail(_: Sequence[KernelDetail]) -> None:
    """For callers that show no page."""


@dataclass(frozen=True)
class ProfileSteps:
    """Profiles of kernels for one problem on one target."""

    steps: KernelSteps
    problem: Problem
    target: str | None
    options: ProfileOptions
    work: Work
    on_detail: OnDetail
    seen: list[PreparedKernel] = field(default_factory=list)
    """Every kernel that was prepared, the profiled one first."""
    details: list[KernelDetail] = field(default_factory=list)
    """Of the profiled kernel, what its page shows besides the answer."""
    sides: list[Side] = field(default_factory=list)
    """What was counted of each kernel on an emulated target, the profiled one first."""

    def profile(self, source: str, file_name: str) -> ProfileResult:
        """The profile, compared where the options say so."""
        answer = self._one(source, file_name, self.details.extend)
        self.on_detail(self.details)

        def other() -> ProfileResult:
            assert self.options.compare_to is not None
            name = self.options.compare_file
            again = replace(self, work=self.work.saying(lambda text: self.work.say(f"{name}, to compare: {text}")))
            return again._one(self.options.compare_to, name, no_detail)

        return compared(answer, self.options, other, self._ratio)

    def _ratio(self) -> Estimate | None:
        """How many times as fast the profiled kernel is; None where not both were counted."""
        if len(self.sides) != 2:
            return None
        return modelled_ratio(self.sides[0], self.sides[1], gpu_by_name(self.steps.target(self.target).gpu))

    def recorded(self, answer: ProfileResult) -> ProfileResult:
        """The answer; the details are kept under the attempt that it names, for the page of the profile."""
        if answer.attempt and self.details:
            keep_details(answers_folder(self.steps.cache_dir / "answers"), answer.attempt, self.details)
        return answer

    def _one(self, source: str, file_name: str, on_detail: OnDetail) -> ProfileResult:
        prepared = self.steps.prepare(self.problem, source, file_name=file_name, target=self.target, work=self.work)
        self.seen.append(prepared)
        where, compiled = prepared.target, prepared.compiled
        if refused := cannot_launch(prepared):
            return refused
        cases = timed_cases(self.problem, self.options.case)
        planned = self.steps.plan_measurement(prepared, case=self.options.case)
        if where.kind == "gpu" and not isinstance(planned, Finding):
            answer = self.steps.profile_on_gpu(prepared, planned, self.work)
            return answer.model_copy(update={"case": name_of_cases(cases)})
        measured = KnownSteps(self.steps, self.options.fresh).measure(prepared, planned, self.work)
        if measured.finding:
            return ProfileResult(target=where.name, reason=measured.finding.message, findings=[measured.finding])
        self.sides.append(side_of(prepared, measured))
        self.work.say("explaining the counts")
        gpu, lines, code = gpu_by_name(where.gpu), compiled.lines, compiled.disassembly
        kernels = compiled.result.kernels
        text = compiled.text
        facts = facts_of(runs=measured.runs, resources=kernels, lines=lines, disassembly=code, source=text, gpu=gpu)
        outputs = judged_outputs(measured)
        answer = answer_of(facts, gpu=gpu, target=where.name, focus=self.options.focus, outputs=outputs)
        if on_detail is not no_detail:
            on_detail(details_of(facts, lines=lines, disassembly=code))
        update: dict[str, object] = {
            "isolation": prepared.sandbox.isolation,
            "not_cached": compiled.result.not_cached,
            "code_object": compiled.result.code_object,
            "case": name_of_cases(cases),
            "reason": f"{answer.reason}; case {name_of_cases(cases)}",
        }
        if measured.wrong_outputs:
            update["warnings"] = [f"the outputs of this run are wrong: {measured.wrong_outputs}", *answer.warnings]
            update["findings"] = list(measured.findings)
        return answer.model_copy(update=update)


def profile_recording(
    path: Path, *, gpu: str | None, options: ProfileOptions, kernel: str = "", limit: int | None = None
) -> ProfileResult:
    """The profile of a recording of AMD's profilers, compared with another one. Raises ProfileFileError."""
    from amdkernel_mcp.profiling.import_recording import import_recording

    answer = import_recording(path, gpu=gpu, kernel=kernel, limit=limit, focus=options.focus)
    if options.compare_to is not None:
        warning = f"a recording is not compared with a kernel: {options.compare_file} was not profiled"
        return answer.model_copy(update={"warnings": [*answer.warnings, warning]})
    return compared(answer, options, lambda: answer)


def compared(
    answer: ProfileResult,
    options: ProfileOptions,
    other_kernel: Callable[[], ProfileResult],
    ratio: Callable[[], Estimate | None] = lambda: None,
) -> ProfileResult:
    """With what differs from the other kernel or recording of the options; as it is where there is none.

    `ratio`: how many times as fast this kernel is as the other one, once both were counted.
    """
    if not answer.kernels or (options.compare_to is None and not options.compare_with_recording):
        return answer
    name = options.compare_file
    if options.compare_with_recording:
        alone = replace(options, compare_with_recording=False)
        other = profile_recording(Path(name), gpu=None, options=alone)
    else:
        other = other_kernel()
    if not other.kernels:
        warning = f"not compared with {Path(name).name}: {other.reason}"
        return answer.model_copy(update={"warnings": [*answer.warnings, warning]})
    return answer.model_copy(update={"comparison": comparison(other, answer, name=Path(name).name, ratio=ratio())})
