"""A check or a measurement that was run before with the same loaded code, plan and emulator: its answer is known.

Comments, blanks and the name of the file do not count, as they do not for a GPU: `prepared_kernel.what_is_launched`.
Only of emulated targets, where the same run has the same verdict and the same counts on every machine. What went wrong
is never kept: it is found again, with its lines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from amdkernel_mcp.engine.prepared_kernel import loaded_code, what_is_launched
from amdkernel_mcp.kept_values import KeptValues, name_of
from amdkernel_mcp.measurement.job import Measured
from amdkernel_mcp.results.kernels import CheckResult, Finding
from amdkernel_mcp.runner_protocol.job import Timing
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.engine.kernel_steps import KernelSteps
    from amdkernel_mcp.engine.prepared_kernel import PreparedKernel
    from amdkernel_mcp.measurement.job import MeasurementJob

MEASURED_BEFORE = "this kernel was measured before"
MOST_BYTES = 256 << 20
"""Of all checks that are kept, and of all measurements."""


@dataclass(frozen=True)
class KnownSteps:
    """Steps of a benchmark and of a profile that need not run twice. `fresh`: they run in any case, for a replay."""

    steps: KernelSteps
    fresh: bool = False

    def check(self, prepared: PreparedKernel, work: Work) -> CheckResult:
        """The verdict on a kernel; a known one is `correct`."""
        if not self._kept(prepared):
            return self.steps.check(prepared, work)
        known = (self._checks.get(name) for name in self._names(prepared))
        if not self.fresh and (found := next(filter(None, known), None)) is not None:
            work.say("this kernel was checked before")
            own = prepared.compiled.result
            update = {"code_object": own.code_object, "diagnostics": own.diagnostics}
            return self.steps.stamped(found.model_copy(update=update), prepared)
        result = self.steps.check(prepared, work)
        self.keep(prepared, result)
        return result

    def keep(self, prepared: PreparedKernel, result: CheckResult) -> None:
        """Keep a check that ran with the default options."""
        if result.verdict == "correct" and self._kept(prepared):
            own, any_source = self._names(prepared)
            self._checks.put(own if _names_lines(result) else any_source, result)

    def measure(self, prepared: PreparedKernel, planned: MeasurementJob | Finding, work: Work) -> Measured:
        """What `KernelSteps.measure` finds; known where nothing was wrong."""
        if isinstance(planned, Finding) or not self._kept(prepared):
            return self.steps.measure(prepared, planned, work)
        folder = self.steps.cache_dir / "measured"
        kept = KeptValues(folder, TypeAdapter(Measured), max_total_bytes=MOST_BYTES)
        cases = tuple(replace(case, timing=Timing()) for case in planned.job.cases)  # of GPUs alone, drawn each time
        name = name_of(
            *("measured by loaded code", prepared.problem.hash, prepared.problem.declaration),
            *(prepared.target.name, prepared.target.gpu, prepared.sandbox.image_id),
            loaded_code(planned.job.code_object),
            replace(planned.job, cases=cases, code_object=b""),
        )
        if not self.fresh and (found := kept.get(name)) is not None:
            work.say(MEASURED_BEFORE)
            return found
        measured = self.steps.measure(prepared, planned, work)
        if measured.finding is None and measured.wrong_outputs is None:
            kept.put(name, measured)
        return measured

    @property
    def _checks(self) -> KeptValues[CheckResult]:
        return KeptValues(self.steps.cache_dir / "checks", TypeAdapter(CheckResult), max_total_bytes=MOST_BYTES)

    def _names(self, prepared: PreparedKernel) -> tuple[str, str]:
        """Of a check whose answer names lines of this source, and of one that is the same with other comments."""
        problem = prepared.problem
        any_source = (
            *("check by loaded code", problem.hash, problem.declaration, what_is_launched(prepared)),
            *(prepared.target.name, prepared.target.gpu, prepared.sandbox.image_id),
        )
        return name_of(*any_source, prepared.compiled.source, prepared.file_name), name_of(*any_source)

    @staticmethod
    def _kept(prepared: PreparedKernel) -> bool:
        """Not a kernel that cannot be launched: its answer takes no run."""
        launched = prepared.compiled.code_object is not None and not prepared.plan.mistakes
        return prepared.target.kind == "emulator" and launched


def _names_lines(result: CheckResult) -> bool:
    """Whether a correct kernel's answer has lines of its source, which a comment moves."""
    scope, noted = result.coverage, any("line" in note for note in result.notes)
    return bool(noted or result.findings or scope is None or scope.lines_not_run)
