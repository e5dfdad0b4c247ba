"""Successive halving: all rows are timed a little, the better half more, until few are left. Pure.

Jamieson and Talwalkar, "Non-stochastic best arm identification" (2016): the time of a GPU goes to the rows that may be
the best. A row is left out only by its estimate, so that the last rungs decide between the rows that are close.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TypeVar

from amdkernel_mcp.measurement.timing.interleaved import DEFAULT_PLAN, Plan

FINALISTS = 2
"""So many rows are timed as thoroughly as a benchmark."""

Row = TypeVar("Row")


@dataclass(frozen=True)
class Rung:
    """One round: its number and how thoroughly each row is timed in it."""

    number: int
    plan: Plan


def rungs(plan: Plan = DEFAULT_PLAN) -> tuple[Rung, ...]:
    """From the first look of a benchmark alone to all of them; each look keeps the level that it has in a benchmark."""
    looks = len(plan.looks)
    return tuple(
        Rung(
            number,
            Plan(
                settle_s=plan.settle_s,
                settle_limit_s=plan.settle_limit_s,
                looks=plan.looks[:number],
                error=plan.error * number / looks,
                event_us=plan.event_us,
                most_launches=plan.most_launches,
            ),
        )
        for number in range(1, looks + 1)
    )


def halve(
    rows: Sequence[Row], time_row: Callable[[Row, Rung], float | None], ladder: Sequence[Rung] = ()
) -> dict[int, int]:
    """The number of the last rung that each row reached, by its index in `rows`.

    time_row: the speed-up in that rung, the larger the better; None: the row stopped counting.
    """
    ladder = ladder or rungs()
    reached: dict[int, int] = {}
    alive = list(range(len(rows)))
    for rung in ladder:
        last = rung is ladder[-1]
        if len(alive) <= FINALISTS and not last and rung is not ladder[0]:
            continue
        speeds = {}
        for index in alive:
            speed = time_row(rows[index], rung)
            if speed is not None:
                speeds[index] = speed
                reached[index] = rung.number
        alive = sorted(speeds, key=lambda index: -speeds[index])[: max(FINALISTS, ceil(len(speeds) / 2))]
    return reached
