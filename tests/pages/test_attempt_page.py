"""The page of an attempt: a modelled time and speed-up are intervals, measured ones are figures."""

import re
from typing import Any

from amdkernel_mcp.pages.attempt import view_of
from amdkernel_mcp.pages.render import page
from amdkernel_mcp.pages.sign_in import Viewer
from amdkernel_mcp.results.history import AttemptShown
from amdkernel_mcp.results.kernels import BenchmarkResult, Span
from amdkernel_mcp.results.quantity import Interval, Quantity

SPEEDUP = Interval(value=12.15, low=1.62, high=51.07)


def facts(answer: BenchmarkResult) -> str:
    record: dict[str, Any] = dict.fromkeys(("parent", "version", "file_name", "problem"), None)
    record |= {"id": "kq7fx2abcd", "created": "2026-11-22T10:00:00", "by": "ann", "target": "emulator:gfx942"}
    record |= {"verb": "benchmark", "verdict": "faster", "answer": answer.model_dump(mode="json")}
    shown = AttemptShown(attempt=record, source="", diff=None, key="0" * 64)
    viewer = Viewer(user="user:ann", csrf="", signed_in=False)
    answered = page("attempt.html", {"viewer": viewer, "it": record, "shown": shown, "view": view_of(shown)})
    text = bytes(answered.body).decode()
    found = re.search(r'<dl class="facts">(.*?)</dl>', text, re.DOTALL)
    assert found
    return " ".join(re.sub(r"<[^>]*>", " ", found[1]).split())


def test_a_modelled_answer_shows_its_intervals() -> None:
    modelled = BenchmarkResult(
        time_us=Quantity(value=3.4, evidence="modelled"), modelled_us=Span(low=2.7, high=5.6), speedup=SPEEDUP
    )
    shown = facts(modelled)
    assert "Time 3.4 us 2.7 to 5.6 modelled" in shown
    assert re.search(r"Speed-up 12.* 1.6.* to 51", shown), "the middle and both ends"


def test_a_measured_answer_shows_its_figures() -> None:
    shown = facts(BenchmarkResult(time_us=Quantity(value=3.4, evidence="measured"), speedup=SPEEDUP))
    assert "Time 3.4 us measured" in shown
    assert re.search(r"Speed-up 12.* 1.6.* to 51", shown)
