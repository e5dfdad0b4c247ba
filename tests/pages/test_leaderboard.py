"""The best kernels of a team: who sees them, which is first, what two attempts differ in."""

import pytest

from amdkernel_mcp.pages.compare import compared
from amdkernel_mcp.results.history import AttemptShown
from tests.pages.served import ANN, BOB, Served

SHARED = "row_softmax"


@pytest.fixture
def shared(here: Served, monkeypatch: pytest.MonkeyPatch) -> Served:
    """Ann and Bob have a problem with one hash, and each another of one name."""
    from amdkernel_mcp.engine.engine import Engine

    known = {(SHARED, "user:ann"): "1", (SHARED, "user:bob"): "1", ("hers", "user:ann"): "2", ("hers", "user:bob"): "1"}
    monkeypatch.setattr(Engine, "problem_hash", lambda _, name, by: known.get((name, by)))
    return here


def timed(here: Served, time_us: float, by: str, problem: str = SHARED, judged: str | None = "1") -> str:
    return here.timed(time_us, by=by, problem=problem, judged=judged).id


def test_whoever_has_the_problem_sees_who_is_fastest_and_opens_only_their_own_attempts(shared: Served) -> None:
    hers, his = timed(shared, 10.0, "user:ann"), timed(shared, 20.0, "user:bob")
    bob = shared.client(BOB)
    for path in ("/", f"/problems/{SHARED}"):
        page = bob.get(path).text
        assert "10 us" in page
        assert "ann" in page
        assert hers not in page
    assert "yours 20 us" in bob.get("/").text
    assert f"/attempts/{his}" in bob.get(f"/problems/{SHARED}").text
    assert bob.get(f"/attempts/{hers}").status_code == 404
    assert bob.get(f"/compare?a={his}&b={hers}").status_code == 404


def test_times_on_a_problem_that_a_user_does_not_have_are_not_seen(shared: Served) -> None:
    timed(shared, 10.0, "user:ann", "hers", "2")
    bob = shared.client(BOB)
    assert "hers" not in bob.get("/").text
    assert bob.get("/problems/hers").status_code == 404


def test_an_admin_sees_and_opens_the_work_of_all_and_that_is_written_down(shared: Served) -> None:
    hers = timed(shared, 10.0, "user:ann", "hers", None)
    before = timed(shared, 20.0, "user:ann", "hers", None)
    shared.scopes[BOB] = ("docs", "admin")
    bob = shared.client(BOB)
    assert f"/attempts/{hers}" in bob.get("/").text
    assert bob.get(f"/attempts/{hers}").status_code == 200
    assert shared.noted[-1] == ("user:bob", "page: attempt", None, "done user:ann")
    assert bob.get(f"/compare?a={before}&b={hers}").status_code == 200
    assert shared.noted[-1] == ("user:bob", "page: compare", None, "done user:ann")
    assert hers in bob.get("/?user=ann").text
    assert "No attempt is like that." in bob.get("/?user=bob").text


def test_filters_are_in_the_address_and_stay_with_older_attempts(here: Served) -> None:
    kept = [here.attempt(verdict="incorrect", problem="a").id for _ in range(61)]
    other = here.attempt(verdict="correct", problem="a").id
    page = here.client(ANN).get("/?problem=a&verdict=incorrect").text
    assert other not in page
    assert f"/?problem=a&amp;verdict=incorrect&amp;before={kept[1]}" in page


def test_a_plot_has_a_dot_for_each_time_and_the_best_so_far(here: Served) -> None:
    for number, time_us in enumerate((20.0, 30.0, 10.0)):
        here.timed(time_us, created=f"2026-11-0{number + 1}T00:00:00Z")
    page = here.client(ANN).get("/problems/vector_add").text
    assert page.count('class="record"') == 2
    assert page.count('class="try"') == 1
    assert "days since" in page


def test_two_attempts_show_what_moved_and_what_went_and_came() -> None:
    def shown(name: str, time_us: float, hits: float, finding: str, **more: object) -> AttemptShown:
        answer = {
            "time_us": {"value": time_us, "evidence": "modelled"}, "case": "n=64",
            "modelled_us": {"low": time_us * 0.9, "high": time_us * 1.1},
            "counters": {"hits": {"value": hits, "unit": "", "evidence": "emulated"},
                         "waves": {"value": 4.0, "unit": "", "evidence": "emulated"}},
            "findings": [{"kind": "bank_conflict", "message": finding, "line": 3},
                         {"kind": "race", "message": "stays"}],
        }  # fmt: skip
        attempt = {"id": name, "target": "emulator:gfx942", "problem": {"name": "p", "hash": "1"}, "answer": answer}
        return AttemptShown(attempt=attempt | more, source="", diff="-a\n+b", key="")

    view = compared(shown("a", 20.0, 8.0, "old"), shown("b", 10.0, 2.0, "new"))
    assert view["times"] == {"factor": 2.0, "why": "the intervals of the times are apart"}
    assert [(each.name, each.times) for each in view["moved"]] == [("hits", 0.25)]
    assert view["same"] == 1
    assert view["findings"] == {
        "gone": [("bank conflict: old", "")], "come": [("bank conflict: new", "")], "stayed": [("race: stays", "")],
    }  # fmt: skip
    elsewhere = compared(shown("a", 20.0, 8.0, "old"), shown("b", 10.0, 2.0, "new", target="gpu1:0"))
    assert elsewhere["times"]["factor"] is None
    assert "targets" in elsewhere["times"]["why"]
    assert "overlap" in compared(shown("a", 10.5, 8.0, "old"), shown("b", 10.0, 2.0, "new"))["times"]["why"]


def test_a_comparison_is_a_page_that_a_link_shows(here: Served) -> None:
    first, second = here.attempt(text="int a;\n"), here.attempt(text="int b;\n")
    page = here.client(ANN).get(f"/compare?a={first.id}&b={second.id}").text
    assert '<span class="went">-int a;' in page
    assert '<span class="came">+int b;' in page
    assert here.client(ANN).get(f"/compare?a={first.id}").status_code == 404
