"""The best kernels of a team: who sees them, which is first, what two attempts differ in."""

import pytest

from amdkernel_mcp.pages.compare import compared
from amdkernel_mcp.pages.render import factor, pace, ratio
from amdkernel_mcp.profiling.rules.answer import AT_THE_ROOF
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
    assert f"/?problem=a&amp;verdict=incorrect&amp;before={kept[1]}#h-attempts" in page


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
    assert view["times"] == {"factor": 2.0, "apart": True, "why": "the intervals of the times are apart"}
    assert [(each.name, each.times) for each in view["moved"]] == [("hits", 0.25)]
    assert view["same"] == 1
    assert view["findings"] == {
        "gone": [("bank conflict: old", "")], "come": [("bank conflict: new", "")], "stayed": [("race: stays", "")],
    }  # fmt: skip
    elsewhere = compared(shown("a", 20.0, 8.0, "old"), shown("b", 10.0, 2.0, "new", target="gpu1:0"))
    assert elsewhere["times"]["factor"] is None
    assert "targets" in elsewhere["times"]["why"]
    assert "overlap" in compared(shown("a", 10.5, 8.0, "old"), shown("b", 10.0, 2.0, "new"))["times"]["why"]


def spanned(time_us: float, verdict: str = "faster", speedup: float = 2.0, **more: object) -> dict[str, object]:
    answer = {
        "time_us": {"value": time_us, "evidence": "modelled"},
        "modelled_us": {"low": time_us * 0.8, "high": time_us * 1.2},
        "speedup": {"value": speedup, "low": speedup * 0.9, "high": speedup * 1.1},
    }
    return {"verb": "benchmark", "verdict": verdict, "answer": answer, "problem": SHARED, "judged": "1", **more}


def test_a_rank_whose_interval_overlaps_with_the_best_ones_is_not_distinguished(shared: Served) -> None:
    shared.attempt("user:ann", **spanned(10.0))
    shared.attempt("user:bob", **spanned(11.0))
    bob = shared.client(BOB)
    assert bob.get(f"/problems/{SHARED}").text.count("not distinguished from the best") == 1
    assert "not distinguished from bob" in bob.get("/").text, "also where only the best is listed"
    shared.attempt("user:ann", **spanned(2.0))
    assert "not distinguished" not in bob.get(f"/problems/{SHARED}").text


def test_a_best_kernel_that_is_inconclusive_is_no_gain(shared: Served) -> None:
    shared.attempt("user:ann", **spanned(12.0))
    best = shared.attempt("user:ann", **spanned(10.0, "inconclusive", 1.54), text="int a;")
    ann = shared.client(ANN)
    for path in ("/", f"/problems/{SHARED}"):
        page = ann.get(path).text
        assert "1.54×" not in page
        assert '<span class="strong">10 us' not in page
        assert ", inconclusive" in page
        assert best.id in page
    assert "Why the best is faster" not in page
    assert "Compare the best with" in page


def test_the_comparison_that_differs_most_comes_first_and_says_what_bounds_each(shared: Served) -> None:
    times = (200.0, 20.0, 18.0)
    limits = [{"wave_issue": 180.0, "memory": 9.0}, {"wave_issue": 4.0, "memory": 19.0}, {"memory": 17.0}]
    made = []
    for time_us, bounds in zip(times, limits, strict=True):
        values = {name: {"value": value, "evidence": "modelled"} for name, value in bounds.items()}
        more = spanned(time_us, text=f"int a{time_us:.0f};")
        made.append(shared.attempt("user:ann", **more | {"answer": {**more["answer"], "limits_us": values}}))  # type: ignore[dict-item]
    ann = shared.client(ANN)
    page = ann.get(f"/problems/{SHARED}").text
    assert 0 < page.index("the first that was timed") < page.index("the best before it")
    assert "11.1×" in page
    first, before, best = (each.id for each in made)
    told = ann.get(f"/compare?a={first}&b={best}").text
    assert "bound of the first is wave issue (180 us of its 200), of the second memory (17 us of its 18)." in told
    told = ann.get(f"/compare?a={before}&b={best}").text
    assert "bound of the first is memory (19 us of its 20), of the second memory (17 us of its 18)." in told


def test_the_baseline_is_the_attempt_with_its_source_or_was_given_with_the_call(shared: Served) -> None:
    before = shared.attempt("user:ann", **spanned(20.0, text="int a;"))
    after = shared.attempt("user:ann", **spanned(10.0, text="int b;", baseline=before.source))
    ann = shared.client(ANN)
    for path in ("/", f"/problems/{SHARED}", f"/attempts/{after.id}"):
        assert f'href="/attempts/{before.id}" title="the attempt with the baseline' in ann.get(path).text, path
    other = shared.attempt("user:ann", **spanned(5.0, text="int c;", baseline="0" * 64))
    for path in ("/", f"/problems/{SHARED}", f"/attempts/{other.id}", f"/compare?a={before.id}&b={other.id}"):
        assert "one given with the call" in ann.get(path).text, path
    assert before.id not in shared.client(BOB).get(f"/problems/{SHARED}").text


def test_the_profile_of_the_same_source_is_one_press_away_or_named_as_missing(shared: Served) -> None:
    first = shared.attempt("user:ann", **spanned(20.0, text="int a;"))
    best = shared.attempt("user:ann", **spanned(10.0, text="int b;"))
    ann = shared.client(ANN)
    command = f"amdkernel profile {SHARED} k.hip --target emulator:gfx942"
    pages = (f"/problems/{SHARED}", f"/compare?a={first.id}&b={best.id}")
    for path in pages:
        assert command in ann.get(path).text, path
    made = {"verb": "profile", "verdict": "profiled", "problem": SHARED, "text": "int b;"}
    another = shared.attempt("user:ann", **made, judged="of another version")
    diagnosis = [{"finding": "LDS bank conflicts", "because": "32 of 64 lanes"}]
    profile = shared.attempt("user:ann", **made, judged="1", answer={"diagnosis": diagnosis})
    for path in (*pages, f"/attempts/{best.id}"):
        page = ann.get(path).text
        assert f"/attempts/{profile.id}/profile" in page, path
        assert f"/attempts/{another.id}/profile" not in page, path
    assert command not in ann.get(pages[0]).text
    told = ann.get(pages[1]).text
    assert "What costs the second most, as its profile says: LDS bank conflicts" in told
    assert "the profile of this source</a> says first: LDS bank conflicts" in told
    bob = shared.client(BOB).get(f"/problems/{SHARED}").text
    assert "/profile" not in bob
    assert command not in bob


def test_a_row_says_what_its_verdict_and_its_gain_are_over(shared: Served) -> None:
    timed(shared, 20.0, "user:ann")
    timed(shared, 10.0, "user:ann")
    page = shared.client(ANN).get("/").text
    assert "faster than baseline" in page
    assert "2× as fast as the one before" in page
    assert 'class="up"' not in page


def test_headings_link_to_the_page_of_each_problem_that_has_one(shared: Served) -> None:
    link = f'href="/problems/{SHARED}"'
    checked = shared.attempt("user:bob", problem=SHARED, judged="1")
    shared.scopes[ANN] = ("docs", "admin")
    ann = shared.client(ANN)
    assert link not in ann.get("/").text
    assert link not in ann.get(f"/attempts/{checked.id}").text
    timed(shared, 10.0, "user:bob")
    assert f"<h3><a {link}" in ann.get("/").text
    assert link in ann.get(f"/attempts/{checked.id}").text


def test_what_is_in_order_or_ruled_out_neither_went_nor_came() -> None:
    def shown(*found: str) -> AttemptShown:
        rows = [{"finding": each, "because": "spills: none", "try": ""} for each in found]
        return AttemptShown(attempt={"answer": {"diagnosis": rows}}, source="", diff=None, key="")

    view = compared(
        shown("Loads are not coalesced", "Ruled out: spills"), shown(AT_THE_ROOF, "Ruled out: spills, more")
    )
    moved = view["diagnosis"]
    assert (len(moved["gone"]), moved["come"], moved["stayed"]) == (1, [], [])
    assert [words for words, each in view["sides"] if each.in_order] == ["second"]
    assert [each.ruled_out[0].rows for _, each in view["sides"]] == [[("spills", "none")]] * 2
    assert view["times"]["why"].startswith("Neither was timed")


def test_small_ratios_are_said_as_how_many_times_less() -> None:
    assert ratio(0.00476) == "210 times less"
    assert factor(0.00476) == "210 times slower"
    assert (ratio(0.5), ratio(5e-5), factor(2.5), factor(1234.0)) == (
        "2 times less",
        "20,000 times less",
        "2.5×",
        "1,234×",
    )
    assert (ratio(512.0), ratio(1.0), ratio(1.0001)) == ("512 times more", "the same", "the same")
    assert pace(0.05) == "20 times slower than"


def test_a_comparison_is_a_page_that_a_link_shows(here: Served) -> None:
    first, second = here.attempt(text="int a;\n"), here.attempt(text="int b;\n")
    page = here.client(ANN).get(f"/compare?a={first.id}&b={second.id}").text
    assert '<span class="went">-int a;' in page
    assert '<span class="came">+int b;' in page
    assert here.client(ANN).get(f"/compare?a={first.id}").status_code == 404
