"""How long a launch takes on a GPU, as an interval: the one model of time that `benchmark`, `tune` and `profile` show.

A launch costs LAUNCH_US and its largest bound, at the rates that benchmarks of a GPU reach (`achievable` in gpus.toml)
instead of the peaks; or what the simulation of a unit says, if that is longer. Where the emulator did not simulate,
the waits of the waves take its place. They follow Little's law at each level of memory: rounds of resident waves x
waits of a wave x the latency of the level. Recorded launches lie between FASTEST and SLOWEST times this figure,
simulated ones between the figures below. To the upper end comes all that unmodelled.py bounds.

Sources: `python benchmarks/model.py` fits the three parameters to recordings of MI300X, MI250X and MI210, each kernel
held out in turn; docs/time_model.md has the residuals.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.counters import Dispatch
from amdkernel_mcp.measurement.roofline import Resource, dispatch_bounds
from amdkernel_mcp.measurement.simulated import simulated
from amdkernel_mcp.measurement.unmodelled import latency_us, unmodelled

LAUNCH_US = 3.5
"""From the begin to the end of a launch that does next to nothing, as profilers record it."""
FASTEST, SLOWEST = 0.78, 1.6
"""Times the likely figure: nine of ten recorded launches lie between."""
USUAL_LATENCY = 0.6
"""Of the upper estimate of unmodelled.py."""
LEAST_LATENCY = 0.2
"""Of the same: an access to an idle memory (0.34 us in recordings of MI300X), with two loads of a wave in flight."""

SIMULATED_FASTEST, SIMULATED_SLOWEST = 0.85, 1.35
"""Times the simulated figure: published kernels that waits do not bind lie within 0.9 and 1.2."""
LATENCY_PARTS = (0.6, 1.6)
"""Of the simulation's latency of memory: its least and its most on one part, by how busy the memory is."""


@dataclass(frozen=True)
class Parameters:
    """What is fitted to recordings; the benchmark of the model tries others."""

    launch_us: float = LAUNCH_US
    fastest: float = FASTEST
    slowest: float = SLOWEST


FITTED = Parameters()


@dataclass(frozen=True)
class TimeInterval:
    """Microseconds: the likely time, and both ends between which most launches lie. low <= likely <= high."""

    low_us: float = 0.0
    likely_us: float = 0.0
    high_us: float = 0.0

    def __add__(self, other: "TimeInterval") -> "TimeInterval":
        """Of launches that run one after the other: their errors are common, so the ends add up."""
        return TimeInterval(self.low_us + other.low_us, self.likely_us + other.likely_us, self.high_us + other.high_us)


def achieved_us(bounds_us: Mapping[Resource, float], gpu: Gpu) -> float:
    """The largest bound, with the rates that benchmarks reach instead of the peaks."""
    return max((us / gpu.achieved(resource) for resource, us in bounds_us.items()), default=0.0)


def launch_interval(
    dispatch: Dispatch,
    gpu: Gpu,
    *,
    waves_per_simd: int | None = None,
    sleeps: Mapping[int, int] | None = None,
    parameters: Parameters = FITTED,
) -> TimeInterval:
    """Of one launch. `waves_per_simd`: the kernel's occupancy limit; `sleeps`: as for `unmodelled`."""
    bounds_us = dispatch_bounds(dispatch, gpu, waves_per_simd=waves_per_simd)
    peak_us, roof = max(bounds_us.values(), default=0.0), achieved_us(bounds_us, gpu)
    waits_us = latency_us(dispatch, gpu, waves_per_simd=waves_per_simd)
    left_out = unmodelled(dispatch, gpu, time_us=peak_us, waves_per_simd=waves_per_simd, sleeps=sleeps)
    if unit := simulated(dispatch, gpu):
        least_us, most_us = (parameters.launch_us + unit.with_latency(part) for part in LATENCY_PARTS)
        low_us = max(parameters.fastest * (parameters.launch_us + roof), SIMULATED_FASTEST * least_us, peak_us)
        likely_us = parameters.launch_us + max(roof, unit.time_us)
        high_us = max(parameters.slowest * (parameters.launch_us + roof), SIMULATED_SLOWEST * most_us)
        return TimeInterval(min(low_us, likely_us), likely_us, high_us + left_out.total_us - left_out.latency)
    likely_us = parameters.launch_us + max(roof, USUAL_LATENCY * waits_us)
    shortest_us = parameters.fastest * (parameters.launch_us + roof)
    waiting_us = parameters.fastest * parameters.launch_us + LEAST_LATENCY * waits_us
    low_us = min(max(shortest_us, waiting_us, peak_us), likely_us)
    return TimeInterval(low_us, likely_us, parameters.slowest * likely_us + left_out.total_us)


def time_interval(
    dispatches: Iterable[Dispatch],
    gpu: Gpu,
    *,
    waves_per_simd: Mapping[str, int] | None = None,
    sleeps: Mapping[int, int] | None = None,
) -> TimeInterval:
    """Of launches that run one after the other. `waves_per_simd`: the occupancy limit by kernel name."""
    limits = waves_per_simd or {}
    each = (launch_interval(one, gpu, waves_per_simd=limits.get(one.kernel), sleeps=sleeps) for one in dispatches)
    return sum(each, TimeInterval())
