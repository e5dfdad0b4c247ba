"""What a rule can read about an emulated kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.counters import Dispatch
from amdkernel_mcp.measurement.roofline import BusyUnits, Model, Resource, busy_units, model_case
from amdkernel_mcp.profiling.hot_lines import NO_LINES, LineTable
from amdkernel_mcp.profiling.metrics.emulated import DERIVED, formula_inputs
from amdkernel_mcp.results.kernels import KernelResources


@dataclass(frozen=True)
class Facts:
    """One kernel: its dispatches, its resources where the code object is known, and the GPU that it is modelled on."""

    dispatches: Sequence[Dispatch]
    gpu: Gpu
    resources: KernelResources | None = None
    lines: LineTable = NO_LINES

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
    def model(self) -> Model:
        """The modelled time and its bounds."""
        limits = {self.resources.name: self.resources.occupancy_waves_per_simd} if self.resources else {}
        return model_case(self.dispatches, self.gpu, waves_per_simd=limits)

    def metric(self, name: str) -> float:
        """A derived metric; 0 where it does not exist, so a rule must require a value above 0."""
        return self._derived[name] or 0.0

    def known(self, name: str) -> bool:
        """Whether the metric has a value."""
        return self._derived[name] is not None

    def counter(self, name: str) -> float:
        """A raw count over all dispatches; 0 where it was not counted."""
        return self._inputs.get(name, 0.0)

    def share(self, *resources: Resource) -> float:
        """The largest of the resources' bounds as a share of the modelled time, 0 to 1."""
        if not self.model.time_us:
            return 0.0
        return max(self.model.bounds_us.get(name, 0.0) for name in resources) / self.model.time_us

    @property
    def largest_dispatch(self) -> Dispatch:
        """The dispatch with most instructions."""
        return max(self.dispatches, key=lambda dispatch: dispatch.count("SQ_INSTS"))

    @cached_property
    def busy(self) -> BusyUnits:
        """How much of the GPU the largest dispatch can use."""
        return busy_units(self.largest_dispatch, self.gpu)
