"""Plots as numbers for a template: places in percent, with classes for colours, since a page has no inline style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import log10
from typing import TYPE_CHECKING

from amdkernel_mcp.plot import Axis, number

if TYPE_CHECKING:
    from amdkernel_mcp.history.leaderboard import TimedAttempt
    from amdkernel_mcp.leases.gpu_leases import HeldLease, PastLease
    from amdkernel_mcp.results.server import State

DAYS = 7
_HOURS = DAYS * 24
_UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


@dataclass(frozen=True)
class Dot:
    """A timed attempt. `is_best`: faster than all before it."""

    x: float
    y: float
    is_best: bool
    it: TimedAttempt


@dataclass(frozen=True)
class Plot:
    """Times over time. `steps`: the best so far as lines x1 y1 x2 y2. `ticks`: place and text."""

    dots: Sequence[Dot]
    steps: Sequence[tuple[float, float, float, float]]
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]
    unit: str
    since: str


def plot_of(attempts: Sequence[TimedAttempt]) -> Plot | None:
    """The times of one board, oldest first; None of fewer than two. Slower is higher, on a logarithmic scale."""
    timed = [each for each in attempts if each.time_us > 0]
    if len(timed) < 2:
        return None
    began = datetime.fromisoformat(timed[0].created)
    seconds = [(datetime.fromisoformat(each.created) - began).total_seconds() for each in timed]
    scale, unit = next(((size, name) for size, name in _UNITS if max(seconds) >= 2 * size), _UNITS[-1])
    across = Axis(0.0, max(max(seconds) / scale, 1e-3), unit)
    times = [each.time_us for each in timed]
    low, high = min(times), max(times)
    margin = max((high / low) ** 0.12, 1.04)
    up = Axis(low / margin, high * margin, "us", logarithmic=True)
    dots: list[Dot] = []
    steps: list[tuple[float, float, float, float]] = []
    best: tuple[float, float] | None = None
    for each, at_s in zip(timed, seconds, strict=True):
        x, y = 1.5 + 0.97 * across.at(at_s / scale), 100 - up.at(each.time_us)
        is_best = best is None or y > best[1]
        if best is not None and is_best:
            steps += [(best[0], best[1], x, best[1]), (x, best[1], x, y)]
        if is_best:
            best = x, y
        dots.append(Dot(round(x, 2), round(y, 2), is_best, each))
    if best is not None:
        steps.append((best[0], best[1], 100.0, best[1]))
    rounded = [(round(a, 2), round(b, 2), round(c, 2), round(d, 2)) for a, b, c, d in steps]
    x_ticks = [(round(1.5 + 0.97 * across.at(tick), 2), number(tick)) for tick in across.ticks()]
    y_ticks = [(round(100 - up.at(tick), 2), f"{tick:g}") for tick in _readable(up)]
    return Plot(dots, rounded, x_ticks, y_ticks, unit, timed[0].created)


def _readable(axis: Axis) -> list[float]:
    """The ticks of a logarithmic axis; of a narrow one four equal factors with three digits."""
    ticks = axis.ticks()
    if len(ticks) >= 2:
        return ticks
    span = log10(axis.high / axis.low)
    return [float(f"{axis.low * 10 ** (span * part):.3g}") for part in (0.1, 0.35, 0.6, 0.85)]


@dataclass(frozen=True)
class Hour:
    """The share of an hour for which a GPU was held, 0 to 1. `ago`: whole hours from its end to now. `of`: by owner;
    together they may be more, as several may use a GPU at once."""

    ago: int
    share: float
    of: dict[str, float] = field(default_factory=dict)


@dataclass
class GpuWeek:
    """The use of one GPU in the last seven days. `hours`: oldest first. Seconds by owner in `of`. `now`: its leases.
    `state`: as the overview has it, `note` says why. `is_known`: whether it is known which leases are its own."""

    name: str
    gpu: str
    hours: list[Hour] = field(default_factory=list)
    of: dict[str, float] = field(default_factory=dict)
    exclusive_s: float = 0.0
    held_s: float = 0.0
    now: Sequence[HeldLease] = ()
    state: State = "idle"
    note: str | None = None
    is_known: bool = True

    @property
    def share(self) -> float:
        """Of the week."""
        return self.held_s / (_HOURS * 3600)

    def share_of(self, owner: str) -> float:
        """Of what all owners held."""
        return self.of.get(owner, 0.0) / (sum(self.of.values()) or 1.0)


def week_of(name: str, gpu: str, leases: Sequence[PastLease], now: Sequence[HeldLease] = ()) -> GpuWeek:
    """The use of a GPU. Leases that overlap, which shared ones may, count once for the GPU and each for its owner."""
    week = GpuWeek(name, gpu, now=now)
    spans: list[tuple[float, float]] = []
    for lease in sorted(leases, key=lambda one: -one.from_s):
        week.of[lease.owner] = week.of.get(lease.owner, 0.0) + lease.from_s - lease.until_s
        if lease.kind == "exclusive":
            week.exclusive_s += lease.from_s - lease.until_s
        if spans and lease.from_s >= spans[-1][1]:  # begins before the last one ends
            spans[-1] = spans[-1][0], min(spans[-1][1], lease.until_s)
        else:
            spans.append((lease.from_s, lease.until_s))
    week.held_s = sum(begun - ended for begun, ended in spans)
    for ago in range(_HOURS - 1, -1, -1):
        newest, oldest = ago * 3600.0, (ago + 1) * 3600.0
        held = sum(max(0.0, min(begun, oldest) - max(ended, newest)) for begun, ended in spans)
        of: dict[str, float] = {}
        for lease in leases:
            if (part := min(lease.from_s, oldest) - max(lease.until_s, newest)) > 0:
                of[lease.owner] = min(1.0, of.get(lease.owner, 0.0) + part / 3600.0)
        week.hours.append(Hour(ago, min(1.0, held / 3600.0), of))
    return week
