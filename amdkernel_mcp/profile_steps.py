"""The steps of a profile: compile, run with counters, explain. Part of the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.prepared_kernel import PreparedKernel, cannot_launch
from amdkernel_mcp.profiling.profile import answer_of, details_of, facts_of
from amdkernel_mcp.results.kernels import Finding, ProfileResult

if TYPE_CHECKING:
    from amdkernel_mcp.kernel_steps import KernelSteps, Progress
    from amdkernel_mcp.problems.problem import Problem
    from amdkernel_mcp.profiling.detail import KernelDetail


def profile_steps(
    steps: KernelSteps,
    problem: Problem,
    source: str,
    *,
    file_name: str,
    target: str | None,
    on_progress: Progress,
    seen: list[PreparedKernel],
    on_detail: Callable[[list[KernelDetail]], None] | None,
) -> ProfileResult:
    """Counters, metrics and a diagnosis. `seen` gets the kernel as it was compiled."""
    prepared = steps.prepare(problem, source, file_name=file_name, target=target, on_progress=on_progress)
    seen.append(prepared)
    where, compiled = prepared.target, prepared.compiled
    if refused := cannot_launch(prepared):
        return refused
    planned = steps.plan_measurement(prepared)
    if where.kind == "gpu" and not isinstance(planned, Finding):
        return steps.profile_on_gpu(prepared, planned, on_progress)
    measured = steps.measure(prepared, planned, on_progress)
    if measured.finding:
        return ProfileResult(target=where.name, reason=measured.finding.message, findings=[measured.finding])
    gpu, lines, code = gpu_by_name(where.gpu), compiled.lines, compiled.disassembly
    facts = facts_of(
        runs=measured.runs,
        resources=compiled.result.kernels,
        lines=lines,
        disassembly=code,
        source=source,
        gpu=gpu,
    )
    answer = answer_of(facts, gpu=gpu, target=where.name)
    if on_detail:
        on_detail(details_of(facts, lines=lines, disassembly=code))
    update: dict[str, object] = {
        "isolation": prepared.sandbox.isolation,
        "not_cached": compiled.result.not_cached,
        "code_object": compiled.result.code_object,
    }
    if measured.wrong_outputs:
        update["warnings"] = [f"the outputs of this run are wrong: {measured.wrong_outputs}", *answer.warnings]
        update["findings"] = list(measured.findings)
    return answer.model_copy(update=update)
