"""What a profile says of launches that were sampled: no scaled number passes as exact."""

from collections.abc import Mapping, Sequence

from amdkernel_mcp.counted import counted
from amdkernel_mcp.measurement.counters import Dispatch
from amdkernel_mcp.measurement.job import Measured
from amdkernel_mcp.profiling.metrics.counter_names import shown_name
from amdkernel_mcp.results.kernels import SampledWorkgroups
from amdkernel_mcp.results.quantity import Metric

LEVEL = 0.95
NOT_JUDGED = "outputs are not judged"


def sampled_workgroups(dispatches: Sequence[Dispatch], gfx: str) -> SampledWorkgroups | None:
    """The sample of a kernel's dispatches, with the error of each counter of their sum; None where all workgroups ran.

    Errors of several dispatches are added, as if all were off in the same direction.
    """
    if not any(dispatch.sample for dispatch in dispatches):
        return None
    off: dict[str, float] = {}
    total: dict[str, float] = {}
    for dispatch in dispatches:
        errors = dispatch.sample.errors if dispatch.sample else {}
        for name, value in dispatch.counters.items():
            total[name] = total.get(name, 0) + value
            off[name] = off.get(name, 0) + value * errors.get(name, 0)
    errors = {shown: off[name] / total[name] for name in off if off[name] and (shown := shown_name(name, gfx))}
    return SampledWorkgroups(
        ran=sum(dispatch.sample.ran if dispatch.sample else dispatch.workgroups for dispatch in dispatches),
        of=sum(dispatch.workgroups for dispatch in dispatches),
        errors=errors,
    )


def scaled(metrics: Mapping[str, Metric], sample: SampledWorkgroups | None) -> dict[str, Metric]:
    """The metrics as estimates: what was counted of a sample is modelled for the whole, with its error."""
    if sample is None:
        return dict(metrics)
    return {name: _scaled(metric, sample.errors.get(name, 0)) for name, metric in metrics.items()}


def judged_outputs(measured: Measured) -> str:
    """What is known of the outputs of a sample, as a part of the remark on it."""
    if not measured.judged_elements:
        return f"{NOT_JUDGED}: {measured.not_judged or 'no element of them was changed'}"
    count = counted(measured.judged_elements, "element", grouped=True)
    rest = f", but {measured.not_judged}" if measured.not_judged else ""
    return f"the {count} that they wrote were judged{rest}"


def _scaled(metric: Metric, error: float) -> Metric:
    if metric.evidence not in ("emulated", "modelled"):
        return metric
    note = f"scaled from a sample, ±{100 * error:.2g} %" if error else metric.note
    return metric.model_copy(update={"evidence": "modelled", "note": note})


def remarks(
    kernel: str, dispatches: Sequence[Dispatch], sample: SampledWorkgroups | None, outputs: str = NOT_JUDGED
) -> list[str]:
    """Sentences for the reader: what was sampled, or why a large launch was not. `outputs`: what is known of them."""
    if sample:
        worst = max(sample.errors.values(), default=0.0)
        alike = (1 - LEVEL) ** (1 / sample.ran)
        spread = f", ±{100 * worst:.2g} % at most" if worst else ""
        return [
            f"sampled: {sample.ran:,} of {sample.of:,} workgroups of {kernel} ran, all alike (so are at least"
            f" {int(100 * alike)} % of the others, at {100 * LEVEL:.0f} % confidence); counters are scaled{spread};"
            f" {outputs}"
        ]
    return sorted({f"all workgroups of {kernel} ran: {each.not_sampled}" for each in dispatches if each.not_sampled})
