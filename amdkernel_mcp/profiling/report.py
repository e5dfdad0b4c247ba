"""What the profile of a recording says about itself: its reason and its warnings."""

from collections.abc import Sequence

from amdkernel_mcp.counted import counted
from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.profiling.metrics.evaluation import DILUTED, Aggregation, kernel_ns
from amdkernel_mcp.profiling.readers.recording import Recording
from amdkernel_mcp.profiling.rules.recorded import SHORT_NS
from amdkernel_mcp.results.kernels import KernelProfile

OUTLIERS = "Dispatches left out of the means"


def reason(recording: Recording, gpu: Gpu | None, rule: Aggregation) -> str:
    """The format, the GPU, and how dispatches are averaged, in one sentence."""
    if not recording.dispatches and not recording.totals and recording.code:
        return f"{recording.format} of {counted(len({each.kernel for each in recording.code}), 'kernel')}"
    where = gpu.name if gpu else "an unknown GPU"
    how = "means over dispatches" if rule == "mean_of_ratios" else "sums over dispatches"
    return f"{recording.format} from {where}; ratios are {how} ({rule})"


def warnings(recording: Recording, kernels: Sequence[KernelProfile]) -> list[str]:
    """Why times and figures of the recording may mislead, a sentence each; for the five kernels with most time."""
    found = []
    has_counters = any(dispatch.passes for dispatch in recording.dispatches)
    if has_counters and not recording.timed_apart and any(kernel_ns(d) for d in recording.dispatches):
        found.append("the times are from runs with counters, which slow kernels down: add a --kernel-trace run")
    if recording.dispatches and not all(kernel_ns(dispatch) for dispatch in recording.dispatches):
        found.append("some dispatches have no duration: their rates are `not_measured`")
    if has_counters and _all_zero(recording):
        found.append(
            "all counters are 0, so nothing was counted: on a Radeon, run `amd-smi set -g 0 -l stable_std` and record "
            "again; elsewhere `rocprofv3 --doctor` says why"
        )
    for kernel in kernels[:5]:
        found += _about(kernel)
    return found


def _all_zero(recording: Recording) -> bool:
    """GRBM_GUI_ACTIVE cannot be 0 while a kernel runs; where it was not counted, all others must be."""
    values = [one.counters for dispatch in recording.dispatches for one in dispatch.passes]
    active = [counters["GRBM_GUI_ACTIVE"] for counters in values if "GRBM_GUI_ACTIVE" in counters]
    return not any(active) if active else not any(value for counters in values for value in counters.values())


def _about(kernel: KernelProfile) -> list[str]:
    name, metrics = kernel.name[:60], kernel.metrics
    found = []
    time_ns = metrics["Kernel Time"].value
    if time_ns and time_ns < SHORT_NS:
        found.append(f"{name}: {time_ns / 1000:.1f} us is too short to say what bounds it")
    dilution = metrics.get("GUI_ACTIVE time / Kernel Time")
    if dilution and dilution.value and dilution.value > DILUTED:
        found.append(
            f"{name}: GRBM_GUI_ACTIVE is {dilution.value:.1f} times the kernel time; percentages of it are lower bounds"
        )
    longest, middle = metrics.get("Kernel Time, longest"), metrics.get("Kernel Time, median")
    if (odd := metrics.get(OUTLIERS)) and odd.value and longest and middle and longest.value and middle.value:
        found.append(
            f"{name}: {odd.value:g} of {kernel.dispatches} dispatches took up to {longest.value / 1e6:.3g} ms next to "
            f"{middle.value / 1e6:.3g} ms, as a first touch of memory does: left out of the means"
        )
    elif longest and middle and longest.value and middle.value and longest.value > 2 * middle.value:
        found.append(f"{name}: the longest dispatch took {longest.value / middle.value:.1f} times the median")
    return found
