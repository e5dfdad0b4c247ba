"""Axes have whole ticks that lie on them, and no text of a mark becomes markup."""

from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amdkernel_mcp.plot import Axis, Mark, label, number, plot, point, segment

WIDTHS = st.floats(1e-3, 1e6)


@given(low=st.floats(-1e6, 1e6), width=WIDTHS)
def test_a_linear_axis_has_a_few_equal_steps(low: float, width: float) -> None:
    axis = Axis(low, low + width, "us")
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 7
    assert all(-1e-6 <= axis.at(tick) <= 100 + 1e-6 for tick in ticks)
    steps = [after - before for before, after in pairwise(ticks)]
    assert steps == pytest.approx([steps[0]] * len(steps))


@given(low=st.floats(1e-6, 1e9), ratio=st.floats(8, 1e12))
def test_a_logarithmic_axis_has_ticks_at_whole_numbers(low: float, ratio: float) -> None:
    axis = Axis(low, low * ratio, "us", logarithmic=True)
    ticks = axis.ticks()
    assert 2 <= len(ticks) <= 13
    assert ticks == sorted(ticks)
    assert all(-1e-6 <= axis.at(tick) <= 100 + 1e-6 for tick in ticks)
    assert {f"{tick:e}"[0] for tick in ticks} <= {"1", "2", "5"}


def test_the_ends_of_an_axis_are_its_ends() -> None:
    for axis in (Axis(3, 7, ""), Axis(0.01, 100, "", logarithmic=True)):
        assert (axis.at(axis.low), axis.at(axis.high)) == (0, 100)
    assert Axis(0.01, 100, "", logarithmic=True).at(1) == 50


def test_numbers_are_short() -> None:
    assert [number(value) for value in (0.01, 0.1 + 0.2, 0, 50, 1e3, 2e6, 5e10, 1e14)] == [
        "0.01", "0.3", "0", "50", "1k", "2M", "50G", "100T"
    ]  # fmt: skip


class Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_what_a_mark_says_stays_text() -> None:
    hostile = "</title><script>alert(1)</script>"
    axis = Axis(0, 10, hostile)
    mark = Mark("--best", hostile, segment((0, 0, 50, 50), width=1) + point(50, 50) + label(hostile, 50))
    read = Texts()
    read.feed(plot(axis, axis, [mark], height=100))
    assert "script" not in read.tags
    assert read.texts.count(hostile) == 4
