"""The page of an attempt: a modelled time and speed-up are intervals, measured ones are figures."""

import re
from typing import Any

from amdkernel_mcp.pages.attempt import view_of
from amdkernel_mcp.pages.render import page
from amdkernel_mcp.pages.sign_in import Viewer
from amdkernel_mcp.profiling.rules.answer import AT_THE_ROOF
from amdkernel_mcp.results.history import AttemptShown
from amdkernel_mcp.results.kernels import BenchmarkResult, Span
from amdkernel_mcp.results.quantity import Interval, Quantity

SPEEDUP = Interval(value=12.15, low=1.62, high=51.07)


def shown_page(answer: dict[str, Any], verdict: str = "faster", verb: str = "benchmark") -> str:
    record: dict[str, Any] = dict.fromkeys(("parent", "version", "file_name", "problem"), None)
    record |= {"id": "kq7fx2abcd", "created": "2026-11-22T10:00:00", "by": "ann", "target": "emulator:gfx942"}
    record |= {"verb": verb, "verdict": verdict, "answer": answer, "baseline": None}
    shown = AttemptShown(attempt=record, source="", diff=None, key="0" * 64)
    viewer = Viewer(user="user:ann", csrf="", signed_in=False)
    values = {"viewer": viewer, "it": record, "shown": shown, "view": view_of(shown), "linked": False, "more": None}
    return bytes(page("attempt.html", values).body).decode()


def facts(answer: BenchmarkResult) -> str:
    found = re.search(r'<dl class="facts">(.*?)</dl>', shown_page(answer.model_dump(mode="json")), re.DOTALL)
    assert found
    return " ".join(re.sub(r"<[^>]*>", " ", found[1]).split())


def test_a_modelled_answer_shows_its_intervals() -> None:
    modelled = BenchmarkResult(
        time_us=Quantity(value=3.4, evidence="modelled"), modelled_us=Span(low=2.7, high=5.6), speedup=SPEEDUP
    )
    shown = facts(modelled)
    assert "Time 3.4 us 2.7 to 5.6 modelled" in shown, "the middle sorts lists"
    assert re.search(r"Speed-up 12.* 1.6.* to 51", shown), "the middle and both ends"


def test_a_measured_answer_shows_its_figures() -> None:
    shown = facts(BenchmarkResult(time_us=Quantity(value=3.4, evidence="measured"), speedup=SPEEDUP))
    assert "Time 3.4 us measured" in shown
    assert re.search(r"Speed-up 12.* 1.6.* to 51", shown)


def test_a_verdict_begins_with_its_short_form_and_folds_how_it_is_known() -> None:
    answer = BenchmarkResult(time_us=Quantity(value=3.4, evidence="modelled"), speedup=SPEEDUP, reason="a long reason")
    text = shown_page(answer.model_dump(mode="json"))
    first = re.search(r'<p class="reason">(.*?)</p>', text, re.DOTALL)
    assert first
    said = " ".join(re.sub(r"<[^>]*>", " ", first[1]).split())
    assert said == "Faster than its baseline: 12.2× 1.62× to 51.1× ; 3.4 us modelled"
    assert "<summary>How this is known</summary><p>a long reason</p>" in text
    unclear = shown_page(answer.model_dump(mode="json"), "inconclusive")
    assert "Not distinguished from its baseline" in unclear
    assert "12.2×" not in unclear


def test_what_was_ruled_out_is_folded_with_a_line_for_each_and_what_is_in_order_is_no_problem() -> None:
    rows = [
        {"finding": "Loads are not coalesced", "because": "a", "try": "b"},
        {"finding": f"{AT_THE_ROOF}", "because": "c", "try": "d"},
        {"finding": "Ruled out: spills, barriers", "because": "spills: none\nbarriers: 2 waits", "try": "e"},
    ]
    text = shown_page({"diagnosis": rows}, "profiled", "profile")
    problems = re.findall(r"<li><b>(.*?)</b>", text)
    assert problems == ["Loads are not coalesced"]
    assert f'<li class="fine"><b>{AT_THE_ROOF}' in text
    assert "<dt>spills</dt><dd>none</dd><dt>barriers</dt><dd>2 waits</dd>" in text
    assert "Ruled out: spills" not in text
