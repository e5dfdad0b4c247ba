"""The profile of a kernel that ran on the emulator."""

from collections.abc import Sequence
from typing import Protocol

from amdkernel_mcp.compiler.disassembly import parse_disassembly
from amdkernel_mcp.compiler.sleeps import sleep_clocks
from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.counters import CaseRun, Dispatch
from amdkernel_mcp.profiling.detail import KernelDetail, detail
from amdkernel_mcp.profiling.diagnosis import diagnose
from amdkernel_mcp.profiling.executed_code import executed_code
from amdkernel_mcp.profiling.hot_lines import NO_LINES, hot_lines, line_table
from amdkernel_mcp.profiling.metrics.emulated import emulated_metrics
from amdkernel_mcp.profiling.rules.facts import Facts
from amdkernel_mcp.profiling.sampled import NOT_JUDGED, remarks, sampled_workgroups, scaled
from amdkernel_mcp.results.kernels import Focus, KernelProfile, KernelResources, ProfileResult, Span


class Lines(Protocol):
    """The line table of a code object."""

    def line_of(self, address: int, /) -> int | None:
        """The user's line of a virtual address, or None."""


def profile(
    *,
    runs: Sequence[CaseRun],
    resources: Sequence[KernelResources],
    source: str,
    lines: Lines | None,
    gpu: Gpu,
    target: str,
    disassembly: str = "",
) -> ProfileResult:
    """Metrics, hot lines and a diagnosis of all kernels that the cases dispatched; pure.

    `resources` are those of the code object, `lines` maps its virtual addresses to lines of `source`.
    `disassembly`: of the same code object; without it, rules that need the names of instructions say nothing.
    """
    kernels = facts_of(runs=runs, resources=resources, source=source, lines=lines, gpu=gpu, disassembly=disassembly)
    return answer_of(kernels, gpu=gpu, target=target)


def facts_of(
    *,
    runs: Sequence[CaseRun],
    resources: Sequence[KernelResources],
    source: str,
    lines: Lines | None,
    gpu: Gpu,
    disassembly: str = "",
) -> list[Facts]:
    """What is known of each kernel that the cases dispatched, the one with most modelled time first."""
    named = {kernel.name: kernel for kernel in resources}
    sleeps = sleep_clocks(parse_disassembly(disassembly))
    kernels = []
    for name, ran in _by_kernel(runs).items():
        line_of = lines.line_of if lines else _no_line
        table = line_table(ran, line_of=line_of, source=source) if lines else NO_LINES
        code = executed_code(ran, disassembly, line_of)
        kernels.append(Facts(ran, gpu, named.get(name), table, code, sleeps))
    return sorted(kernels, key=lambda facts: -facts.model.time_us)


def _no_line(_: int) -> None:
    return None


def answer_of(
    kernels: Sequence[Facts], *, gpu: Gpu, target: str, focus: Focus | None = None, outputs: str = NOT_JUDGED
) -> ProfileResult:
    """Metrics, hot lines and a diagnosis of the kernels; of the topic `focus` alone where it is given.

    `outputs`: what is known of those of a sample.
    """
    profiles = [kernel_profile(facts) for facts in kernels]
    if not profiles:
        return ProfileResult(target=target, reason="the kernel was not launched: no dispatch was recorded")
    pairs = zip(kernels, profiles, strict=True)
    counts = "scaled" if any(profile.sampled for profile in profiles) else "exact"
    return ProfileResult(
        target=target,
        kernels=profiles,
        diagnosis=diagnose(kernels, focus),
        focus=focus,
        reason=f"{counts} counts of the emulator; times and bounds are modelled for an {gpu.name}, not measured",
        warnings=[
            text for facts, each in pairs for text in remarks(each.name, facts.dispatches, each.sampled, outputs)
        ],
    )


def details_of(kernels: Sequence[Facts], *, lines: Lines | None, disassembly: str) -> list[KernelDetail]:
    """What a page shows of them besides; `lines` and `disassembly` as for `profile`."""
    code = list(parse_disassembly(disassembly))
    return [detail(facts, code=code, line_of=lines.line_of if lines else lambda _: None) for facts in kernels]


def _by_kernel(runs: Sequence[CaseRun]) -> dict[str, list[Dispatch]]:
    kernels: dict[str, list[Dispatch]] = {}
    for run in runs:
        for dispatch in run.dispatches:
            kernels.setdefault(dispatch.kernel, []).append(dispatch)
    return kernels


def kernel_profile(facts: Facts) -> KernelProfile:
    """Metrics, bound, modelled time and hot lines of one kernel."""
    sample = sampled_workgroups(facts.dispatches, facts.gpu.gfx)
    return KernelProfile(
        name=facts.dispatches[0].kernel,
        dispatches=len(facts.dispatches),
        metrics=scaled(emulated_metrics(facts.dispatches, facts.gpu, resources=facts.resources), sample),
        bound=facts.model.limiter,
        modelled_us=Span(low=facts.interval.low_us, high=facts.interval.high_us) if facts.model.limiter else None,
        hot_lines=hot_lines(facts.lines),
        sampled=sample,
    )
