"""Plots as SVG text for a page: no script and no library draws them.

Places are percentages, so that a plot fills the width it is given while its text keeps its size. A colour is the name
of a CSS variable, so that a page's theme colours the plot. What a mark means is its `title`, which a browser shows
where the pointer rests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

_MOST_TICKS = 6
_LABELLED_DECADES = 3
"""A logarithmic axis of more has a label at the powers of ten only."""


@dataclass(frozen=True)
class Axis:
    """The values from `low` to `high`; where it is logarithmic, both are positive and so is whatever is placed."""

    low: float
    high: float
    title: str
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Where a value lies: 0 at `low`, 100 at `high`; beyond them where it lies outside."""
        if self.logarithmic:
            low, high, value = log10(self.low), log10(self.high), log10(value)
        else:
            low, high = self.low, self.high
        return 100 * (value - low) / (high - low)

    def ticks(self) -> list[float]:
        """Whole steps of 1, 2 or 5 times a power of ten."""
        if not self.logarithmic:
            rough = (self.high - self.low) / _MOST_TICKS
            power = 10.0 ** floor(log10(rough))
            step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= rough * (1 - 1e-9))
            return [step * number for number in range(ceil(self.low / step), floor(self.high / step) + 1)]
        digits = (1, 2, 5) if log10(self.high / self.low) < _LABELLED_DECADES else (1,)
        powers = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
        near = 1e-9  # the ends themselves have a tick
        ticks = [digit * 10.0**power for power in powers for digit in digits]
        return [tick for tick in ticks if -near <= self.at(tick) <= 100 + near]


@dataclass(frozen=True)
class Mark:
    """Something at places in percent: `y` counts from the top. `shapes`: SVG that takes the colour of the mark."""

    colour: str
    """A CSS variable such as `--best`."""
    says: str
    shapes: str

    def svg(self) -> str:
        """The mark with what it says."""
        return f'<g style="color: var({self.colour})"><title>{escape(self.says)}</title>{self.shapes}</g>'


def segment(ends: Sequence[float], *, width: float, dots: bool = False) -> str:
    """A line from x, y to x, y; around it a wider one that is not seen, for the pointer."""
    x1, y1, x2, y2 = ends
    line = f'<line x1="{x1:.3f}%" y1="{y1:.3f}%" x2="{x2:.3f}%" y2="{y2:.3f}%"'
    dash = ' stroke-dasharray="1.5 3"' if dots else ""
    return (
        f'{line} stroke="currentColor" stroke-width="{width}"{dash}/>'
        f'{line} stroke="currentColor" stroke-width="11" stroke-opacity="0"/>'
    )


def point(x: float, y: float) -> str:
    """A dot."""
    return f'<circle cx="{x:.3f}%" cy="{y:.3f}%" r="5.5" fill="currentColor"/>'


def whisker(low: float, high: float, across: float, *, upright: bool) -> str:
    """An interval as a bar with feet; `across`: its place on the other axis."""
    ends = (across, low, across, high) if upright else (low, across, high, across)
    size = (
        'width="8" height="1.4" transform="translate(-4 -.7)"'
        if upright
        else 'width="1.4" height="8" transform="translate(-.7 -4)"'
    )
    feet = [(across, low), (across, high)] if upright else [(low, across), (high, across)]
    return segment(ends, width=1.4) + "".join(
        f'<rect x="{x:.3f}%" y="{y:.3f}%" {size} fill="currentColor"/>' for x, y in feet
    )


def label(text: str, y: float) -> str:
    """Text at the right end, above the height `y`."""
    return f'<text x="100%" y="{y:.3f}%" dx="-4" dy="-5" text-anchor="end" fill="currentColor">{escape(text)}</text>'


def plot(x: Axis, y: Axis | int, marks: Sequence[Mark], *, height: int) -> str:
    """The plot, `height` pixels high without the text around it, for which the page leaves room.

    y: an axis, or how many rows of equal height there are, whose names the page has.
    """
    grid = []
    for tick in x.ticks():
        at = f"{x.at(tick):.3f}%"
        grid.append(f'<line class="grid" x1="{at}" y1="0" x2="{at}" y2="100%"/>')
        grid.append(f'<text x="{at}" y="100%" dy="18" text-anchor="middle">{number(tick)}</text>')
    grid.append(f'<text x="50%" y="100%" dy="38" text-anchor="middle">{escape(x.title)}</text>')
    if isinstance(y, Axis):
        for tick in y.ticks():
            at = f"{100 - y.at(tick):.3f}%"
            grid.append(f'<line class="grid" x1="0" y1="{at}" x2="100%" y2="{at}"/>')
            grid.append(f'<text x="-7" y="{at}" dy=".33em" text-anchor="end">{number(tick)}</text>')
        turned = f'<text transform="rotate(-90)" text-anchor="middle">{escape(y.title)}</text>'
        grid.append(f'<svg x="-46" y="50%" overflow="visible">{turned}</svg>')
    else:
        for row in range(y):
            at = f"{row_at(row, y):.3f}%"
            grid.append(f'<line class="grid" x1="0" y1="{at}" x2="100%" y2="{at}"/>')
    inside = (
        f'<svg width="100%" height="100%">{"".join(mark.svg() for mark in marks)}</svg>'  # it cuts what lies outside
    )
    return f'<svg class="drawn" width="100%" height="{height}" overflow="visible">{"".join(grid)}{inside}</svg>'


def row_at(row: int, rows: int) -> float:
    """The height of the middle of a row, counted from 0, of `rows` rows."""
    return 100 * (row + 0.5) / rows


def number(value: float) -> str:
    """`0.05`, `20`, `5k`, `2M`: powers of 1000 by their letters."""
    for letter, scale in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale * (1 - 1e-9):
            return f"{value / scale:.10g}{letter}"
    return f"{value:.10g}"
