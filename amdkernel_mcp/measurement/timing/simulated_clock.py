"""Event times as a GPU could report them, from known true durations: test equipment, without any GPU.

It exists to count how often a way of comparing two kernels is wrong, which is possible only where the truth is known.
A time from it is never `measured`, and no tool or command reads one. Virtual time starts at zero on a device that was
idle for long, and passes only by `run`, `work` and `idle`. One seed determines the whole history. The parameters, each
with its basis, are in simulated_clock.toml. The emulator's option `clock=simulated` gives the same series behind HIP's
events (sandbox/emulator/hip/clock).
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amdkernel_mcp.measurement.timing.draws import Array, Draw, Draws

HORIZON_S = 120.0
"""Thermal steps and bursts are drawn up to here; later times raise ValueError."""
WAVES = 6
"""Sines of random period and phase that make up the drift."""
MOST_KERNELS, MOST_BUFFER_SETS = 8, 64
MOST_CHANGES = 1024
"""Thermal steps, and bursts, of one history."""


@dataclass(frozen=True)
class Parameters:
    """The numbers of simulated_clock.toml, under the same names and in the same units."""

    ramp_shortest: float
    ramp_longest: float
    idle_clock: float
    clock_hold: float
    clock_fall: float
    drift: float
    drift_shortest_period: float
    drift_longest_period: float
    thermal_steps: float
    thermal_step_size: float
    jitter: float
    tail_probability: float
    tail_scale: float
    tail_exponent: float
    tail_longest: float
    neighbour_bursts: float
    neighbour_length: float
    neighbour_slowdown: float
    placement: float
    event_resolution: float
    event_overhead: float
    launch_gap: float
    host_gap: float

    def louder(self, factor: float) -> "Parameters":
        """The same GPU with `factor` times the drift, steps, jitter, outliers, bursts and placement effects."""
        louder = ("drift", "thermal_step_size", "jitter", "tail_scale", "neighbour_bursts", "placement")
        return replace(self, **{name: getattr(self, name) * factor for name in louder})


def read_parameters() -> Parameters:
    """The parameters of simulated_clock.toml. Raises TypeError where a name is missing or unknown."""
    tables = tomllib.loads(files(__package__).joinpath("simulated_clock.toml").read_text(encoding="utf-8"))
    return Parameters(**{name: float(table["value"]) for name, table in tables.items()})


QUIET = {
    "idle_clock": 1.0,
    **dict.fromkeys(
        ("drift", "thermal_step_size", "jitter", "tail_probability", "placement", "neighbour_slowdown"), 0.0
    ),
}
"""Changes to the parameters that leave only overheads and the resolution: each effect can be switched on alone."""


class SimulatedGpu:
    """One GPU with a history that its seed determines, and the virtual time `now_us`."""

    def __init__(self, parameters: Parameters, *, seed: int | Sequence[int], buffer_sets: int = 1) -> None:
        if not 1 <= buffer_sets <= MOST_BUFFER_SETS:
            raise ValueError(f"{buffer_sets} buffer sets: 1 to {MOST_BUFFER_SETS} can be simulated")
        self.parameters = p = parameters
        self.now_us = 0.0
        self.launches = 0
        self._buffer_sets = buffer_sets
        self._draws = draws = Draws(seed)
        self._ramp_us = _between(p.ramp_shortest, p.ramp_longest, float(draws.uniform(Draw.RAMP, 0))) * 1e3
        self._warm_us = 0.0  # how far the ramp has come, as time at work
        shares, shortest, longest = draws.uniform(Draw.PERIOD, np.arange(WAVES)), *_drift_periods_log(p)
        self._angular = 2 * np.pi / (np.exp(_between(shortest, longest, shares)) * 1e6)
        self._phases = 2 * np.pi * draws.uniform(Draw.PHASE, np.arange(WAVES))
        self._step_at_us = _moments_us(draws, Draw.STEP_GAP, p.thermal_steps)
        self._levels = p.thermal_step_size * draws.normal(Draw.LEVEL, np.arange(len(self._step_at_us) + 1))
        self._burst_at_us = _moments_us(draws, Draw.BURST_GAP, p.neighbour_bursts)
        each = np.arange(len(self._burst_at_us))
        length_us = p.neighbour_length * 1e3 * draws.exponential(Draw.BURST_LENGTH, each)
        self._burst_end_us = self._burst_at_us + length_us
        self._burst_slowdown = p.neighbour_slowdown * draws.exponential(Draw.BURST_SLOWDOWN, each)
        places = np.arange(MOST_KERNELS * MOST_BUFFER_SETS).reshape(MOST_KERNELS, MOST_BUFFER_SETS)
        self._placement = 1 + p.placement * draws.normal(Draw.PLACEMENT, places)
        self._next_set = np.zeros(MOST_KERNELS, dtype=np.int64)

    def idle(self, us: float) -> None:
        """Spend time without work: the clock falls, unless the gap is short."""
        self.now_us += us
        fallen = max(0.0, us / 1e3 - self.parameters.clock_hold) / self.parameters.clock_fall
        self._warm_us = max(0.0, self._warm_us - fallen * self._ramp_us)

    def work(self, us: float) -> None:
        """Spend time with work that is not timed: the clock rises."""
        self.now_us += us
        self._warm_us = min(self._ramp_us, self._warm_us + us)

    def run(
        self, durations_us: Sequence[float] | Array, *, kernels: Sequence[int], batch: int = 1, untimed_us: float = 0.0
    ) -> Array:
        """Event times in us, one for each duration: between two events lie `batch` launches of that true duration.

        durations_us: at the full clock, without noise. kernels: which code it is, of the same length; it decides about
        placement only. untimed_us: work at the full clock before each first event, such as a cache flush.
        """
        p, durations = self.parameters, np.asarray(durations_us, dtype=np.float64)
        which = np.asarray(kernels, dtype=np.int64)
        if durations.shape != which.shape or durations.ndim != 1 or batch < 1:
            raise ValueError("`durations_us` and `kernels` are lists of equal length, and a batch has a launch")
        noisy_us = durations * self._launch_noise(which, batch).sum(axis=1)
        wall_us = self._walls(np.column_stack((np.full(len(durations), untimed_us), noisy_us)).ravel()).reshape(-1, 2)
        between_us = p.event_overhead + (batch - 1) * p.launch_gap
        slots_us = wall_us.sum(axis=1) + between_us + p.host_gap
        ends_us = self.now_us + np.cumsum(slots_us) - p.host_gap
        starts_us = ends_us - wall_us[:, 1] - between_us
        self.work(float(slots_us.sum()))
        self.launches += batch * len(durations)
        if self.now_us > HORIZON_S * 1e6:
            raise ValueError(f"the simulated history ends after {HORIZON_S:.0f} s")
        ticks = np.floor(ends_us / p.event_resolution) - np.floor(starts_us / p.event_resolution)
        return np.asarray(ticks * p.event_resolution)

    def _launch_noise(self, which: NDArray[np.int64], batch: int) -> Array:
        """A factor for each launch, of shape (samples, batch): jitter, outliers, and where its buffers lie."""
        p, draws, shape = self.parameters, self._draws, (len(which), batch)
        launches = self.launches + np.arange(len(which) * batch)
        factors = np.exp(p.jitter * draws.normal(Draw.JITTER, launches)) if p.jitter else np.ones(len(launches))
        outliers = np.flatnonzero(draws.uniform(Draw.TAIL, launches) < p.tail_probability)
        longer = 1 + p.tail_scale * (1 + draws.pareto(Draw.TAIL_LENGTH, launches[outliers], p.tail_exponent))
        factors[outliers] *= np.minimum(longer, p.tail_longest)
        sets = np.empty(shape, dtype=np.int64)
        for kernel in np.unique(which):
            mine = which == kernel
            count = int(mine.sum()) * batch
            sets[mine] = (self._next_set[kernel] + np.arange(count)).reshape(-1, batch) % self._buffer_sets
            self._next_set[kernel] += count
        return np.asarray(factors.reshape(shape) * self._placement[which[:, None], sets])

    def _walls(self, work_us: Array) -> Array:
        """How long pieces of work take that follow each other from now on; work_us is at the full clock."""
        bounds_us = self._ramped(np.concatenate(([0.0], np.cumsum(work_us))))
        return np.asarray(np.diff(bounds_us) * self._slowdown(self.now_us + bounds_us[:-1]))

    def _ramped(self, done_us: Array) -> Array:
        """When the work is done, from now on, on a clock that rises in a straight line and then stays.

        By then the clock has done low * t + slope * t * t / 2 of it, which this solves for t.
        """
        low = self.parameters.idle_clock + (1 - self.parameters.idle_clock) * self._warm_us / self._ramp_us
        left_us = self._ramp_us - self._warm_us
        if low >= 1 or left_us <= 0:
            return done_us
        slope = (1 - low) / left_us
        rising_us = (np.sqrt(low * low + 2 * slope * done_us) - low) / slope
        return np.asarray(np.where(rising_us < left_us, rising_us, left_us + done_us - (1 + low) / 2 * left_us))

    def _slowdown(self, at_us: Array) -> Array:
        """Drift, thermal level and neighbour at those times, as a factor of the time."""
        waves = np.sin(at_us[:, None] * self._angular + self._phases).sum(axis=1)
        drift = self.parameters.drift * np.sqrt(2 / WAVES) * waves
        level = self._levels[np.searchsorted(self._step_at_us, at_us)]
        factor = np.exp(drift + level)
        if len(self._burst_at_us):
            latest = np.searchsorted(self._burst_at_us, at_us) - 1
            busy = (latest >= 0) & (at_us < self._burst_end_us[latest])
            factor = factor * np.where(busy, 1 + self._burst_slowdown[latest], 1.0)
        return np.asarray(factor)


def _between(low: float, high: float, share: Any) -> Any:
    return low + (high - low) * share


def _drift_periods_log(p: Parameters) -> tuple[float, float]:
    return float(np.log(p.drift_shortest_period)), float(np.log(p.drift_longest_period))


def _moments_us(draws: Draws, gaps: Draw, per_second: float) -> Array:
    """The moments of a process of so many events per second, up to the horizon."""
    if per_second <= 0:
        return np.empty(0)
    at_us = np.cumsum(draws.exponential(gaps, np.arange(MOST_CHANGES)) / per_second * 1e6)
    return np.asarray(at_us[at_us < HORIZON_S * 1e6])


class SimulatedPair:
    """A candidate and a baseline of known true durations on one simulated GPU, as an `interleaved.Timer`."""

    def __init__(self, gpu: SimulatedGpu, *, candidate_us: float, baseline_us: float) -> None:
        self.gpu = gpu
        self._true_us = {"candidate": candidate_us, "baseline": baseline_us}

    def settle(self, seconds: float) -> None:
        """Keep the GPU at work that is not timed."""
        self.gpu.work(seconds * 1e6)

    def time(self, order: Sequence[Any], *, batch: int) -> list[float]:
        """Event times in us, one for each side of `order`."""
        durations = [self._true_us[side] for side in order]
        kernels = [int(side == "candidate") for side in order]
        return [float(us) for us in self.gpu.run(durations, kernels=kernels, batch=batch)]
