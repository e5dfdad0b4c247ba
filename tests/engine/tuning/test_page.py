"""The page of a sweep needs nothing but itself, and no text in it becomes markup."""

import re
from html.parser import HTMLParser

import pytest

from amdkernel_mcp.engine.tuning.page import page_of
from amdkernel_mcp.results.quantity import Interval, Quantity
from amdkernel_mcp.results.tuning import TuneResult, TuneRow

BEST = TuneRow(
    values={"TILE": "32"},
    verdict="correct",
    reason="",
    rank=1,
    time_us=Quantity(value=2.0, evidence="modelled"),
    interval_us=Interval(value=2.0, low=2.0, high=90.0),
    ratio=Interval(value=3.0, low=1.5, high=9.0),
)
HOSTILE = "<img src=x onerror=alert(1)> @PLOT@ </script><script>"
WRONG = TuneRow(values={"TILE": "64"}, verdict="incorrect", reason=HOSTILE)
RESULT = TuneResult(verdict="faster", reason="modelled", rows=[BEST, WRONG], combinations=2, line="// <b>")


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def tags(page: str) -> list[tuple[str, dict[str, str | None]]]:
    reader = Tags()
    reader.feed(re.sub(r"<script>.*?</script>", "<script></script>", page, flags=re.DOTALL))
    return reader.found


def test_a_browser_fetches_nothing_and_foreign_text_stays_text() -> None:
    page = page_of(RESULT, kernel=HOSTILE, problem="p")
    found = tags(page)
    assert {tag for tag, _ in found} & {"img", "link", "iframe", "b"} == set()
    assert [attributes for _, attributes in found if {"src", "href"} & set(attributes)] == []
    assert sum(tag == "script" for tag, _ in found) == 0
    assert len(page) < 20_000


def test_the_plot_has_the_correct_rows_with_their_intervals_and_the_table_all() -> None:
    page = page_of(RESULT, kernel="k.hip", problem="p")
    marks = re.findall(r'<g style="color: var\(--(\w+)\)"><title>([^<]*)</title>(.*?)</g>', page)
    assert [(kind, says.splitlines()) for kind, says, _ in marks] == [
        ("best", ["TILE=32", "2 us", "3x [1.5, 9]"]),
    ]
    at = {tick: float(x) for x, tick in re.findall(r'<text x="([\d.]+)%" y="100%"[^>]*>([\d.]+)<', page)}
    assert list(at) == ["2", "5", "10", "20", "50", "100"], "2 to 90 us need a logarithmic axis"
    assert at["20"] - at["2"] == pytest.approx(at["50"] - at["5"], abs=0.01)
    start, end = map(float, re.search(r'x1="([\d.]+)%"[^>]* x2="([\d.]+)%"', marks[0][2]).groups())
    assert start == pytest.approx(at["2"], abs=0.01)
    assert at["50"] < end < at["100"], "up to 90 us"
    assert "TILE=64" in page


def test_rows_of_every_kind_have_their_colour_and_like_times_a_linear_axis() -> None:
    def row(tile: str, us: float, **more: object) -> TuneRow:
        time = Quantity(value=us, evidence="measured")
        return BEST.model_copy(update={"values": {"TILE": tile}, "time_us": time, "interval_us": Interval(), **more})

    rows = [
        row("1", 100.0, rank=1),
        row("2", 101.0, rank=2, tie=True),
        row("3", 104.0, rank=3, default=True),
        row("4", 110.0, rank=4),
    ]
    page = page_of(TuneResult(verdict="faster", rows=rows, combinations=4), kernel="k.hip", problem="p")
    marks = re.findall(r'<g style="color: var\(--(\w+)\)"><title>TILE=(\d)\n.*?cx="([\d.]+)%"', page, re.DOTALL)
    assert [(kind, tile) for kind, tile, _ in marks] == [("best", "1"), ("tie", "2"), ("default", "3"), ("other", "4")]
    at = [float(x) for _, _, x in marks]
    assert at[3] - at[0] == pytest.approx(10 * (at[1] - at[0]), abs=0.01)
    assert re.findall(r'y="100%" dy="18"[^>]*>([\d.]+)<', page) == ["100", "102", "104", "106", "108", "110"]


def test_a_single_time_without_an_interval_is_in_the_middle() -> None:
    only = BEST.model_copy(update={"interval_us": Interval()})
    page = page_of(TuneResult(verdict="faster", rows=[only], combinations=1), kernel="k.hip", problem="p")
    assert 'cx="50.000%" cy="50.000%"' in page


def test_without_a_time_there_is_no_plot() -> None:
    page = page_of(TuneResult(verdict="incorrect", rows=[WRONG], combinations=1), kernel="k", problem="p")
    assert "<svg" not in page
    assert "<div hidden>" in page
