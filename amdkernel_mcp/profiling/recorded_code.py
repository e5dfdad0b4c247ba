"""Thread traces and PC samples in the profile of a recording: joined with its kernels and with their counters."""

from collections.abc import Sequence

from amdkernel_mcp.profiling.code_lines import code_metrics, hot_instructions, hot_recorded_lines
from amdkernel_mcp.profiling.metrics.metric import quantity
from amdkernel_mcp.profiling.readers.kernel_code import UNNAMED, KernelCode
from amdkernel_mcp.profiling.readers.recording import Recording
from amdkernel_mcp.profiling.recorded_shape import shape_metrics, shapes_in_objects
from amdkernel_mcp.profiling.rules.recorded import FIT, diagnose_recording
from amdkernel_mcp.profiling.rules.waits import FEWEST_SAMPLES, diagnose_waits
from amdkernel_mcp.results.kernels import Diagnosis, Focus, KernelProfile
from amdkernel_mcp.results.quantity import Metric

MOST_DIAGNOSED = 5


def add_code(kernels: Sequence[KernelProfile], recording: Recording) -> list[KernelProfile]:
    """The kernels with their hot lines and instructions, and kernels without counters; most costly first.

    Stochastic samples come before host-trap samples and these before a thread trace, where a kernel has several.
    """
    found = {kernel.name: kernel for kernel in kernels}
    shapes = shapes_in_objects(recording.objects) if recording.code else {}
    for code in sorted(recording.code, key=lambda each: (-each.total.weight, each.kernel)):
        name = code.mangled if code.mangled in found else code.kernel
        kernel = found.get(name) or KernelProfile(name=name, dispatches=0, metrics=_NO_TIMES, bound=None)
        own = shape_metrics(*shapes[code.mangled]) if code.mangled in shapes else {}
        update: dict[str, object] = {"metrics": own | kernel.metrics | code_metrics(code)}
        if not kernel.hot_instructions or code is chosen(recording.code, code.kernel):
            update["hot_lines"] = hot_recorded_lines(code, recording.sources)
            update["hot_instructions"] = hot_instructions(code)
        found[name] = kernel.model_copy(update=update)
    return list(found.values())


_NO_TIMES: dict[str, Metric] = {
    "Kernel Time": quantity(None, "ns", "measured"),
    "Total Time": quantity(None, "ns", "measured"),
}
_ORDER = ("stochastic samples", "host-trap samples", "thread trace")


def chosen(code: Sequence[KernelCode], kernel: str) -> KernelCode | None:
    """What is known best about a kernel's instructions: reasons and no skid before others."""
    own = [each for each in code if kernel in (each.kernel, each.mangled)]
    return min(own, key=lambda each: _ORDER.index(each.method), default=None)


def diagnose_kernels(
    kernels: Sequence[KernelProfile], code: Sequence[KernelCode], *, focus: Focus | None = None
) -> list[Diagnosis]:
    """The findings on the kernels with most time: what counters show, and what waves wait for.

    focus: the topic of the findings; None for all.
    """
    found: list[Diagnosis] = []
    with_code = [kernel for kernel in kernels[MOST_DIAGNOSED:] if kernel.hot_instructions]
    for kernel in [*kernels[:MOST_DIAGNOSED], *with_code[:MOST_DIAGNOSED]]:
        counted = diagnose_recording([kernel], focus=focus)
        own = chosen(code, kernel.name)
        fit = kernel.metrics[FIT].value if FIT in kernel.metrics else None
        waits = diagnose_waits(own, bandwidth_bound=kernel.bound == "memory", fit=fit) if own else []
        waits = [row for row in waits if focus is None or row.topic in (None, focus)]
        found += [*counted, *waits] if kernel.bound else [*waits, *counted]
    return found


def code_warnings(code: Sequence[KernelCode]) -> list[str]:
    """What thread traces and samples of this recording lack."""
    found = []
    if any(each.kernel == UNNAMED for each in code):
        found.append("the recording does not name the kernels of its samples: record with --kernel-trace as well")
    if code and not any(place.source for each in code for place in each.costs):
        found.append("no instruction has a source line: compile with -g")
    for each in code[:MOST_DIAGNOSED]:
        samples = each.total.samples
        if each.method != "thread trace" and samples < FEWEST_SAMPLES:
            found.append(f"{each.kernel[:60]}: {samples} samples are too few to say what it waits for")
        if each.method == "host-trap samples":
            found.append(f"{each.kernel[:60]}: host-trap samples may lie two instructions off and have no reasons")
    return found
