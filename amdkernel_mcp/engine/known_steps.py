"""A check or a measurement that was run before with the same code, seeds and emulator: its answer is known.

Only of emulated targets, where the same run has the same verdict and the same counts on every machine. What went wrong
is never kept: it is found again, with its lines.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from amdkernel_mcp.kept_values import KeptValues, name_of
from amdkernel_mcp.measurement.job import Measured
from amdkernel_mcp.results.kernels import CheckResult, Finding
from amdkernel_mcp.runner_protocol.job import Timing
from amdkernel_mcp.work import Work

if TYPE_CHECKING:
    from amdkernel_mcp.engine.kernel_steps import KernelSteps
    from amdkernel_mcp.engine.prepared_kernel import PreparedKernel
    from amdkernel_mcp.measurement.job import MeasurementJob

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
        folder = self.steps.cache_dir / "checks"
        kept = KeptValues(folder, TypeAdapter(CheckResult), max_total_bytes=MOST_BYTES)
        problem, compiled = prepared.problem, prepared.compiled
        name = name_of(
            *("check", problem.hash, problem.declaration, compiled.source, prepared.file_name, compiled.code_object),
            *(prepared.plan.flags(), self.steps.key("check", prepared).commitment),
            *(prepared.target.name, prepared.target.gpu, prepared.sandbox.image_id),
        )
        if not self.fresh and (found := kept.get(name)) is not None:
            work.say("this kernel was checked before")
            return found
        result = self.steps.check(prepared, work)
        if result.verdict == "correct":
            kept.put(name, result)
        return result

    def measure(self, prepared: PreparedKernel, planned: MeasurementJob | Finding, work: Work) -> Measured:
        """What `KernelSteps.measure` finds; known where nothing was wrong."""
        if isinstance(planned, Finding) or not self._kept(prepared):
            return self.steps.measure(prepared, planned, work)
        folder = self.steps.cache_dir / "measured"
        kept = KeptValues(folder, TypeAdapter(Measured), max_total_bytes=MOST_BYTES)
        cases = tuple(replace(case, timing=Timing()) for case in planned.job.cases)  # of GPUs alone, drawn each time
        name = name_of(
            *("measured with unread bytes", prepared.problem.hash, prepared.problem.declaration),
            *(prepared.target.name, prepared.target.gpu, prepared.sandbox.image_id),
            replace(planned.job, cases=cases),
        )
        if not self.fresh and (found := kept.get(name)) is not None:
            work.say("this kernel was measured before")
            return found
        measured = self.steps.measure(prepared, planned, work)
        if measured.finding is None and measured.wrong_outputs is None:
            kept.put(name, measured)
        return measured

    @staticmethod
    def _kept(prepared: PreparedKernel) -> bool:
        return prepared.target.kind == "emulator" and prepared.compiled.code_object is not None
