"""The time of a launch by the emulator's simulation of a unit (sandbox/emulator/timing), on a GPU.

The emulator counts in clocks of the part that it knows of an architecture; a GPU with other CUs and another clock gets
them in proportion. Where all workgroups are resident at once on both, waits for memory stay as long: more waves of a CU
wait at the same time. Each loss was left out in another run of the same instructions: the difference is what it costs.

Sources: docs/time_model.md has the published kernels that the simulation was compared with.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.counters import Dispatch

Loss = Literal[
    "latency", "lds_conflicts", "lds", "barriers", "scattered_lines", "vector", "matrix",
    "late_loads", "slow_matrix", "misses_of_l1", "few_waves", "xcd_order",
]  # fmt: skip
COUNTER_OF: Mapping[Loss, str] = {
    "late_loads": "simulated_clocks_loads_earlier",
    "slow_matrix": "simulated_clocks_full_matrix_rate",
    "misses_of_l1": "simulated_clocks_all_in_l1",
    "few_waves": "simulated_clocks_twice_the_waves",
    "xcd_order": "simulated_clocks_one_l2",
}
"""Clocks of the runs that do something otherwise; those that leave something out are `simulated_clocks_without_…`."""


@dataclass(frozen=True)
class Simulated:
    """Microseconds of the unit with most workgroups, and the same without each loss."""

    time_us: float
    without_us: Mapping[Loss, float]

    def with_latency(self, part: float) -> float:
        """Microseconds if waits for memory cost this part of what they cost in the simulation."""
        idle_us = min(self.without_us["latency"], self.time_us)
        return idle_us + part * (self.time_us - idle_us)

    def saved_us(self, loss: Loss) -> float:
        """How much shorter it is without the loss: never negative."""
        return max(self.time_us - self.without_us[loss], 0.0)


def simulated(dispatch: Dispatch, gpu: Gpu) -> Simulated | None:
    """None where the launch was not simulated."""
    clocks, cus = dispatch.count("simulated_clocks"), dispatch.count("simulated_cus")
    if not clocks or not cus:
        return None
    scale = max(cus / gpu.cus, 1.0 if dispatch.workgroups <= gpu.cus else 0.0)
    at_once = dispatch.count("simulated_groups_at_once") * min(gpu.cus / cus, 1.0)
    busy = min(dispatch.count("simulated_clocks_without_latency"), clocks)
    waits = 0.0 if dispatch.workgroups > at_once else (clocks - busy) * (1 - scale)
    losses: tuple[Loss, ...] = get_args(Loss)
    counted = {loss: COUNTER_OF.get(loss, f"simulated_clocks_without_{loss}") for loss in losses}
    without = {loss: (dispatch.count(name) or clocks) * scale for loss, name in counted.items()}
    less_us = {loss: (of + (waits if loss != "latency" else 0.0)) / gpu.clock_mhz for loss, of in without.items()}
    return Simulated((clocks * scale + waits) / gpu.clock_mhz, less_us)
