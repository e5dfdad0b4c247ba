"""Recorded launches with their traffic and duration, and how well the model of time predicts those held out.

Of each launch the recording has bytes of memory, requests to the L2 and lookups of the vL1D, or (PyTorch) its arrays
alone, and not its arithmetic, LDS and latencies: these are what SLOWEST must cover.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from statistics import median, quantiles

from amdkernel_mcp.hardware.specs import Gpu, gpu_by_name
from amdkernel_mcp.measurement.counters import Dispatch
from amdkernel_mcp.measurement.roofline import LINE_BYTES, dispatch_bounds
from amdkernel_mcp.measurement.time_interval import Parameters, TimeInterval, achieved_us, launch_interval

FILE = Path(__file__).with_name("recorded") / "times.csv"
LAUNCHES_US = [each / 10 for each in range(20, 61)]
"""Costs of a launch that the fit tries."""


@dataclass(frozen=True)
class Recorded:
    """A launch that a profiler recorded; `us` is the median over its repeats."""

    source: str
    gpu: Gpu
    kernel: str
    dispatch: Dispatch
    us: float

    @property
    def peak_us(self) -> float:
        """The largest bound of the recorded traffic, at the peaks."""
        return max(dispatch_bounds(self.dispatch, self.gpu).values())

    @property
    def roof_us(self) -> float:
        """The same at the rates that benchmarks reach."""
        return achieved_us(dispatch_bounds(self.dispatch, self.gpu), self.gpu)

    def interval(self, parameters: Parameters) -> TimeInterval:
        """As the model has it."""
        return launch_interval(self.dispatch, self.gpu, parameters=parameters)


@dataclass(frozen=True)
class HeldOut:
    """A launch, and its interval by parameters that no launch of the same kernel was used for."""

    launch: Recorded
    interval: TimeInterval

    @property
    def inside(self) -> bool:
        """Whether the recorded time lies within."""
        return self.interval.low_us <= self.launch.us <= self.interval.high_us

    @property
    def ratio(self) -> float:
        """Recorded / likely time."""
        return self.launch.us / self.interval.likely_us

    @property
    def width(self) -> float:
        """Upper / lower end."""
        return self.interval.high_us / self.interval.low_us


def recorded_launches() -> list[Recorded]:
    """All of recorded/times.csv."""
    with open(FILE, newline="") as file:
        return [_launch(row) for row in csv.DictReader(file)]


def _launch(row: dict[str, str]) -> Recorded:
    gpu, moved = gpu_by_name(row["gpu"]), float(row["memory_bytes"])
    counters = {
        "memory_bytes_read": moved,
        "mall_misses": moved / LINE_BYTES,
        "TCC_REQ_sum": float(row["l2_requests"] or 0),
        "TCP_TOTAL_CACHE_ACCESSES_sum": float(row["l1_lookups"] or 0),
        "SQ_WAVES": float(row["waves"] or 0),
    }
    block = int(row["block"] or 256)
    groups = max(int(counters["SQ_WAVES"] * gpu.wave_size / block), 1)
    return Recorded(
        row["source"], gpu, row["kernel"], Dispatch(row["kernel"], (groups, 1, 1), (block, 1, 1), counters),
        float(row["us"]),
    )  # fmt: skip


def fit(launches: Sequence[Recorded]) -> Parameters:
    """The cost of a launch with the smallest median error, and the range of nine tenths of the ratios to it."""
    best = min(LAUNCHES_US, key=lambda us: sum(abs(log(each.us / (us + each.roof_us))) for each in launches))
    ratios = [each.us / (best + each.roof_us) for each in launches]
    cuts = quantiles(ratios, n=20, method="inclusive")
    return Parameters(launch_us=best, fastest=cuts[0], slowest=cuts[-1])


def cross_validated(launches: Sequence[Recorded]) -> list[HeldOut]:
    """Each kernel held out in turn: launches of its name on any GPU."""
    found = []
    for name in dict.fromkeys(_family(each.kernel) for each in launches):
        fitted = fit([each for each in launches if _family(each.kernel) != name])
        found += [HeldOut(each, each.interval(fitted)) for each in launches if _family(each.kernel) == name]
    return found


def _family(kernel: str) -> str:
    return kernel.split()[0]


def coverage(found: Sequence[HeldOut]) -> float:
    """Share of the recorded times that lie in their interval."""
    return sum(each.inside for each in found) / len(found)


def median_error(found: Sequence[HeldOut]) -> float:
    """Of the likely time, as a factor."""
    return exp(median(abs(log(each.ratio)) for each in found))
