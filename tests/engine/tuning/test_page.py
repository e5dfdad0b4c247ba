"""The page of a sweep needs nothing but itself, and no text in it becomes markup."""

import json
import re
from html.parser import HTMLParser

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
HOSTILE = "<img src=x onerror=alert(1)> @PLOTLY@ </script><script>"
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
    assert sum(tag == "script" for tag, _ in found) == 3
    assert page.count("Plotly.react(") >= 1
    assert len(page) < 6_000_000


def test_the_plot_has_the_correct_rows_with_their_intervals_and_the_table_all() -> None:
    page = page_of(RESULT, kernel="k.hip", problem="p")
    figure = json.loads(re.search(r'id="figure">(.*?)</script>', page, re.DOTALL)[1])
    assert [trace["name"] for trace in figure["data"]] == ["best"]
    assert figure["data"][0]["error_x"]["array"] == [88.0]
    assert figure["layout"]["xaxis"]["type"] == "log"
    assert "TILE=64" in page


def test_without_a_time_there_is_no_plot_and_no_script_for_it() -> None:
    page = page_of(TuneResult(verdict="incorrect", rows=[WRONG], combinations=1), kernel="k", problem="p")
    assert len(page) < 20_000
    assert "<div hidden>" in page
