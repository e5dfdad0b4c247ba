"""What a rule can read about an emulated kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.hardware.occupancy import Occupancy, occupancy
from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.counters import Dispatch
from amdkernel_mcp.measurement.roofline import BusyUnits, Model, Resource, busy_units, fabric_bytes, model_case
from amdkernel_mcp.measurement.simulated import Loss, Simulated, simulated
from amdkernel_mcp.measurement.time_interval import USUAL_LATENCY, TimeInterval, achieved_us, time_interval
from amdkernel_mcp.measurement.unmodelled import longest_wave_us, unmodelled
from amdkernel_mcp.profiling.executed_code import NO_CODE, ExecutedCode
from amdkernel_mcp.profiling.hot_lines import NO_LINES, LineTable
from amdkernel_mcp.profiling.metrics.emulated import DERIVED, formula_inputs
from amdkernel_mcp.results.kernels import KernelResources

UNEVEN = 2
"""Times the instructions of a mean wave."""
_BOUND_OF: Mapping[Loss, tuple[Resource, ...]] = {
    "latency": (),
    "barriers": (),
    "lds_conflicts": ("lds",),
    "lds": ("lds",),
    "scattered_lines": ("l1_cache",),
    "vector": ("vector_alu", "wave_issue"),
    "matrix": ("matrix_cores",),
    "late_loads": (),
    "slow_matrix": (),
    "misses_of_l1": ("l2_cache", "infinity_cache", "memory"),
    "few_waves": (),
    "xcd_order": ("infinity_cache", "memory"),
}
"""The bounds that fall with a loss."""
_PER_CU: tuple[Resource, ...] = ("l1_cache", "lds", "vector_alu", "matrix_cores", "scalar_unit")


@dataclass(frozen=True)
class Facts:
    """One kernel: its dispatches, its resources where the code object is known, and the GPU that it is modelled on."""

    dispatches: Sequence[Dispatch]
    gpu: Gpu
    resources: KernelResources | None = None
    lines: LineTable = NO_LINES
    code: ExecutedCode = NO_CODE
    sleeps: Mapping[int, int] = field(default_factory=dict)
    """Clocks of each instruction that puts a wave to sleep, by its address."""

    @cached_property
    def _inputs(self) -> Mapping[str, float]:
        return formula_inputs(self.dispatches, self.gpu, self.resources)

    @cached_property
    def _derived(self) -> Mapping[str, float | None]:
        return {definition.name: definition.formula.value(self._inputs) for definition in DERIVED}

    @property
    def wave_size(self) -> int:
        """Lanes of a wave of this kernel."""
        return int(self._inputs["wave_size"])

    @cached_property
    def occupancy(self) -> Occupancy | None:
        """Of the block that was launched and its dynamic LDS; None without the code object.

        The figure of the code object is for the largest block that may be launched.
        """
        if self.resources is None:
            return None
        largest, of = self.largest_dispatch, self.resources
        try:
            return occupancy(
                self.gpu.gfx,
                vgprs=of.vgpr,
                sgprs=of.sgpr,
                lds_bytes=max(largest.lds_bytes, of.lds_bytes),
                workgroup_size=prod(largest.block),
                wave_size=of.wavefront_size,
            )
        except InputError:
            return Occupancy(of.occupancy_waves_per_simd, "wave_slots")

    @cached_property
    def _limits(self) -> Mapping[str, int]:
        return {self.resources.name: self.occupancy.waves_per_simd} if self.resources and self.occupancy else {}

    @cached_property
    def model(self) -> Model:
        """The modelled time and its bounds."""
        return model_case(self.dispatches, self.gpu, waves_per_simd=self._limits)

    @cached_property
    def roof_us(self) -> float:
        """The largest bound, with the bandwidths that benchmarks reach instead of the peaks."""
        return achieved_us(self.model.bounds_us, self.gpu)

    def roof_without_us(self, *resources: Resource) -> float:
        """The same if these resources cost nothing."""
        others = {name: us for name, us in self.model.bounds_us.items() if name not in resources}
        return achieved_us(others, self.gpu)

    def roof_relieved_us(self, *resources: Resource) -> float:
        """The largest bound that a cure of these resources leaves: of traffic what is compulsory, of units nothing."""
        least = self.metric("Compulsory Bytes")
        moved: dict[Resource, float] = {
            "memory": self.metric("Memory Bytes"),
            "infinity_cache": sum(fabric_bytes(each) for each in self.dispatches),
        }
        parts = {name: min(least / moved[name], 1.0) if moved.get(name) else 0.0 for name in resources}
        left = {name: us * parts.get(name, 1.0) for name, us in self.model.bounds_us.items()}
        return achieved_us(left, self.gpu)

    def roof_if_even_us(self) -> float:
        """The same if every CU and SIMD had as much work as the others, and a wave at least."""
        cus, simds = self.busy.cus / self.gpu.cus, self.busy.simds / self.gpu.simds
        part: dict[Resource, float] = {name: simds if name == "vector_alu" else cus for name in _PER_CU}
        part["wave_issue"] = self.busy.resident_waves / self.gpu.simds
        even = {name: us * min(part.get(name, 1), 1) for name, us in self.model.bounds_us.items()}
        return achieved_us(even, self.gpu)

    @cached_property
    def latency_us(self) -> float:
        """How long the rounds of resident waves take if each wait takes a usual latency."""
        return self._latency_us(self.dispatches, self._limits.get(self.largest_dispatch.kernel))

    @cached_property
    def longest_us(self) -> float:
        """How long the longest wave takes alone, with usual latencies; of all launches."""
        return USUAL_LATENCY * sum(longest_wave_us(each, self.gpu) for each in self.dispatches)

    @cached_property
    def interval(self) -> TimeInterval:
        """The time of all launches, as a benchmark has it."""
        limits = {self.resources.name: self.resources.occupancy_waves_per_simd} if self.resources else {}
        return time_interval(self.dispatches, self.gpu, waves_per_simd=limits, sleeps=self.sleeps)

    def latency_if_full_us(self) -> float:
        """The same if neither registers nor LDS limited the resident waves."""
        return self._latency_us([replace(each, lds_bytes=0) for each in self.dispatches], None)

    def _latency_us(self, dispatches: Sequence[Dispatch], waves_per_simd: int | None) -> float:
        estimates = (unmodelled(each, self.gpu, time_us=0, waves_per_simd=waves_per_simd) for each in dispatches)
        return USUAL_LATENCY * sum(estimate.latency for estimate in estimates)

    @cached_property
    def units(self) -> Sequence[Simulated] | None:
        """The simulation of each launch; None where one of them was not simulated."""
        found = [unit for each in self.dispatches if (unit := simulated(each, self.gpu))]
        return found if len(found) == len(self.dispatches) else None

    @property
    def time_us(self) -> float:
        """The largest of roof, latency and longest wave: what the findings' costs are shares of.

        A simulation has the waits of even waves in it: only of waves that do much more than a mean one, the longest
        counts besides.
        """
        if not self.units:
            return max(self.roof_us, self.latency_us, self.longest_us)
        return max(self.roof_us, sum(unit.time_us for unit in self.units), self._uneven_us())

    def _uneven_us(self) -> float:
        dispatch = self.largest_dispatch
        mean = dispatch.count("SQ_INSTS") / max(dispatch.count("SQ_WAVES"), 1.0)
        return self.longest_us if dispatch.count("longest_wave_insts") > UNEVEN * mean else 0.0

    def saved_us(self, loss: Loss) -> float | None:
        """How much shorter the simulation is without the loss, down to the next bound; None: not simulated."""
        if not self.units:
            return None
        without_us = sum(unit.time_us - unit.saved_us(loss) for unit in self.units)
        return max(self.time_us - max(self.roof_without_us(*_BOUND_OF[loss]), without_us, self._uneven_us()), 0.0)

    def costs(self, loss: Loss) -> float:
        """The same as a part of the time; 0 where nothing was simulated."""
        return (self.saved_us(loss) or 0.0) / self.time_us if self.time_us else 0.0

    def metric(self, name: str) -> float:
        """A derived metric; 0 where it does not exist, so a rule must require a value above 0."""
        return self._derived[name] or 0.0

    def known(self, name: str) -> bool:
        """Whether the metric has a value."""
        return self._derived[name] is not None

    def counter(self, name: str) -> float:
        """A raw count over all dispatches; 0 where it was not counted."""
        return self._inputs.get(name, 0.0)

    def per_wave(self, name: str) -> float:
        """A raw count of a mean wave."""
        return self.counter(name) / max(self.counter("SQ_WAVES"), 1.0)

    def share(self, *resources: Resource) -> float:
        """The largest of the resources' bounds as a share of the modelled time, 0 to 1."""
        if not self.model.time_us:
            return 0.0
        return min(max(self.model.bounds_us.get(name, 0.0) for name in resources) / self.model.time_us, 1.0)

    @property
    def largest_dispatch(self) -> Dispatch:
        """The dispatch with most instructions."""
        return max(self.dispatches, key=lambda dispatch: dispatch.count("SQ_INSTS"))

    @property
    def residency(self) -> str:
        """`3.2 waves are resident on a SIMD`, or that there is less than one for each."""
        waves, simds = self.busy.resident_waves, self.gpu.simds
        if waves >= simds:
            return f"{waves / simds:.2g} waves are resident on a SIMD"
        if self.largest_dispatch.count("SQ_WAVES") >= simds:
            return f"{counted(round(waves), 'wave')} at a time fit on {simds} SIMDs, less than one on each"
        return f"the launch has {counted(round(waves), 'wave')} for {simds} SIMDs, less than one each"

    @cached_property
    def busy(self) -> BusyUnits:
        """How much of the GPU the largest dispatch can use."""
        return busy_units(
            self.largest_dispatch, self.gpu, waves_per_simd=self._limits.get(self.largest_dispatch.kernel)
        )
