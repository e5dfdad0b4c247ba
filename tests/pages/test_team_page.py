"""What the page shows, to whom, and that nothing of a user becomes HTML."""

import re

import pytest
from starlette.testclient import TestClient

from amdkernel_mcp.results.quantity import Interval
from tests.pages.served import ANN, BOB, EVE, GPU, HOSTILE, Served, finish

TAG = "<img src=x onerror=alert(1)>"


def csrf(client: TestClient) -> str:
    return client.get("/").text.split('name="csrf" value="')[1].split('"')[0]


def test_a_target_says_who_works_on_it_and_the_queue_its_places(here: Served) -> None:
    here.start("user:ann", target="gpu1:0", problem="/srv/examples/row_softmax")
    for owner, problem in (("user:bob", "reduce_sum"), ("user:bob", "transpose"), ("user:ann", "gemm_f32")):
        here.start(owner, problem=problem)
    status = here.client(ANN).get("/status.json").json()
    gpu, emulated = status["targets"][0], next(one for one in status["targets"] if one["kind"] == "emulator")
    assert [one["name"] for one in status["targets"]][:2] == ["gpu1:0", "gpu2:0"], "GPUs first"
    assert (gpu["state"], gpu["jobs"][0]["owner"], gpu["jobs"][0]["problem"]) == ("busy", "user:ann", "row_softmax")
    assert (emulated["state"], emulated["jobs"][0]["owner"], emulated["jobs"][0]["problem"]) == (
        "busy",
        "user:bob",
        None,
    )
    assert status["targets"][1]["state"] == "unreachable"
    assert [(job["place"], job["owner"], job["target"]) for job in status["waiting"]] == [
        (1, "user:bob", "emulator:gfx942"),
        (2, "user:ann", "emulator:gfx942"),
    ]
    page = here.client(ANN).get("/").text
    assert "no route" in page
    assert "/srv" not in page


def test_a_job_that_has_begun_and_waits_for_its_gpu_says_so(here: Served) -> None:
    job = here.start("user:ann", target="gpu1:0")
    here.jobs.find(job, "user:ann").work.used.waits = 1
    ann = here.client(ANN)
    assert ann.get("/status.json").json()["targets"][0]["jobs"][0]["state"] == "waits_for_gpu"
    assert "waits for the GPU" in ann.get("/").text
    assert "waits for a GPU" in ann.get(f"/jobs/{job}").text
    here.jobs.find(job, "user:ann").work.used.waits = 0
    assert ann.get("/status.json").json()["targets"][0]["jobs"][0]["state"] == "running"


def test_of_a_job_of_another_only_its_user_verb_and_target_are_seen(here: Served) -> None:
    running = here.start("user:ann", problem="secret_problem", says="secret progress")
    waiting = here.start("user:ann", problem="secret_problem")
    bob = here.client(BOB)
    for text in (bob.get("/").text, bob.get("/status.json").text):
        assert "ann" in text
        assert not [word for word in ("secret", running, waiting, "running case") if word in text]


def test_attempts_and_best_times_of_another_are_not_seen(here: Served) -> None:
    hers = here.timed(12.5, by="user:ann", problem="secret_problem")
    bob = here.client(BOB)
    assert hers.id not in bob.get("/").text
    answer = bob.get(f"/attempts/{hers.id}")
    assert answer.status_code == 404
    assert "secret_problem" not in answer.text
    assert bob.get(f"/?before={hers.id}").status_code == 404
    assert here.client(ANN).get(f"/attempts/{hers.id}").status_code == 200


def test_the_best_time_is_the_least_of_each_kind_of_evidence_with_its_interval(here: Served) -> None:
    here.timed(20.0)
    best = here.timed(10.0, speedup=Interval(value=2.0, low=1.9, high=2.1).model_dump())
    here.timed(15.0)
    here.timed(1.0, verdict="incorrect")
    measured = here.timed(30.0, evidence="measured", target="gpu1:0")
    found = {each.evidence: each for each in here.history.best("user:ann", 10)}
    assert (found["modelled"].attempt, found["modelled"].time_us, found["modelled"].tried) == (best.id, 10.0, 3)
    assert found["modelled"].speedup == Interval(value=2.0, low=1.9, high=2.1)
    assert found["measured"].attempt == measured.id
    page = here.client(ANN).get("/").text
    assert "1.9× to 2.1×" in page
    assert '<span class="evidence measured">measured</span>' in page


def test_an_attempt_is_joined_to_the_one_below_it_only_if_that_is_its_parent(here: Served) -> None:
    first = here.attempt()
    second = here.attempt(parent=first.id)
    aside = here.attempt(parent=first.id, verdict="incorrect")
    rows = re.findall(r'<li class="(\w+(?: joined)?)">.*?>(\w{10})</a>', here.client(ANN).get("/").text, re.DOTALL)
    assert rows == [("bad", aside.id), ("good joined", second.id), ("good", first.id)]


def test_the_page_of_an_attempt_has_source_findings_figures_and_the_difference(here: Served) -> None:
    first = here.attempt(text="int a;\nint b;\n")
    finding = {"kind": "race", "message": "two waves write y[0]", "line": 2}
    metric = {"value": 12.0, "unit": "GB/s", "evidence": "emulated", "note": None}
    kernel = {
        "name": "add",
        "bound": "memory",
        "metrics": {"Bandwidth": metric},
        "hot_lines": [{"line": 1, "share": 0.5}],
    }
    answer = {"reason": "it races", "findings": [finding], "kernels": [kernel], "diagnosis": []}
    second = here.attempt(text="int a;\nint c;\n", parent=first.id, verb="profile", answer=answer, verdict="incorrect")
    page = here.client(ANN).get(f"/attempts/{second.id}").text
    for part in ("it races", "two waves write y[0]", 'href="#L2"', 'id="L2" class="marked"', "Bandwidth", "GB/s"):
        assert part in page
    assert '<span class="went">-int b;' in page
    assert '<span class="came">+int c;' in page
    assert '<rect width="20.0"' in page, "the share of line 1"


@pytest.mark.parametrize("keys", [{"findings": [{}]}, {"cases": [], "time_us": None}, {"kernels": [{"name": "k"}]}])
def test_the_record_of_a_check_that_lacks_keys_has_a_page(here: Served, keys: dict[str, object]) -> None:
    made = here.attempt(answer=keys)
    assert here.client(ANN).get(f"/attempts/{made.id}").status_code == 200


def test_nothing_that_users_name_becomes_html(here: Served) -> None:
    here.start(f"user:{HOSTILE}", target="gpu1:0", problem=TAG, says=TAG)
    here.start(f"user:{HOSTILE}", problem=TAG)
    finding = {"kind": TAG, "message": TAG, "line": TAG}
    metric = {"value": 1.0, "unit": TAG, "evidence": TAG}
    case = {"case": TAG, "verdict": TAG, "reason": TAG, "max_abs_err": 1.0, "drawn": False, "held_out": False}
    answer: dict[str, object] = {
        "reason": TAG, "findings": [finding], "cases": [case],
        "diagnosis": [{"finding": TAG, "because": TAG, "try": TAG}],
        "kernels": [{"name": TAG, "bound": TAG, "metrics": {TAG: metric}}], "speedup": {}, "time_us": None,
    }  # fmt: skip
    by = f"user:{HOSTILE}"
    first = here.attempt(by, text="</pre>", problem=TAG)
    made = here.attempt(
        by,
        text=TAG,
        file_name=TAG,
        problem=TAG,
        target=TAG,
        verb="profile",
        verdict=TAG,
        answer=answer,
        parent=first.id,
    )
    here.history.note(made.id, TAG)
    eve = here.client(EVE)
    for path in ("/", f"/attempts/{made.id}", f"/attempts/{TAG}", f"/?before={TAG}"):
        page = eve.get(path).text
        assert TAG not in page
        assert HOSTILE not in page
        assert "</pre></pre>" not in page
        assert "&lt;img src=x onerror" in page
    assert "&lt;b&gt;eve&lt;/b&gt;" in eve.get("/").text


def test_characters_that_reorder_text_are_spelt_out(here: Served) -> None:
    made = here.attempt(text="int a; /*\u202e } */\n")
    page = here.client(ANN).get(f"/attempts/{made.id}").text
    assert "\u202e" not in page
    assert "\\u202e" in page


def test_pages_load_nothing_from_elsewhere_and_run_no_inline_code(here: Served) -> None:
    made = here.attempt()
    client = here.client(ANN)
    for path in (
        "/",
        f"/attempts/{made.id}",
        "/attempts/none",
        "/static/page.css",
        "/static/live.js",
        "/static/icon.svg",
    ):
        answer = client.get(path)
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert {policy[name] for name in ("script-src", "style-src", "img-src", "connect-src")} == {"'self'"}
        assert answer.headers["x-content-type-options"] == "nosniff"
        text = answer.text.replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|<style|\sstyle=|\son\w+=|<script(?! src=\"/static/)", text), path


def test_ones_own_job_can_be_cancelled_from_the_page(here: Served) -> None:
    running, waiting = here.start("user:ann"), here.start("user:ann")
    ann = here.client(ANN)
    for job in (waiting, running):
        answer = ann.post(f"/jobs/{job}/cancel", data={"csrf": csrf(ann)})
        assert (answer.status_code, answer.url.path) == (200, "/")
        ended = here.jobs.find(job, "user:ann")
        assert ended.wait(60)
        assert ended.status == "cancelled"


def test_a_token_that_starts_no_jobs_cancels_none(here: Served) -> None:
    job = here.start("user:ann")
    ann = here.client(ANN)
    form = {"csrf": csrf(ann)}
    here.scopes[ANN] = ("docs",)
    assert "Cancel" not in ann.get("/").text
    assert ann.post(f"/jobs/{job}/cancel", data=form).status_code == 403
    assert here.jobs.find(job, "user:ann").status == "running"
    assert here.noted == [("user:ann", "page: sign in", None, "done"), ("user:ann", "page: cancel", job, "refused")]


def test_no_page_of_another_site_or_user_cancels_a_job(here: Served) -> None:
    job = here.start("user:ann")
    ann, bob = here.client(ANN), here.client(BOB)
    assert ann.post(f"/jobs/{job}/cancel").status_code == 403
    assert ann.post(f"/jobs/{job}/cancel", data={"csrf": csrf(bob)}).status_code == 403
    assert bob.post(f"/jobs/{job}/cancel", data={"csrf": csrf(bob)}).status_code == 404
    assert ann.get(f"/jobs/{job}/cancel").status_code == 405
    assert here.client().post(f"/jobs/{job}/cancel", data={"csrf": csrf(ann)}).status_code == 401
    assert here.jobs.find(job, "user:ann").status == "running"


def test_an_admin_sees_and_cancels_the_jobs_of_others(here: Served) -> None:
    running = here.start("user:ann", problem="her_problem", says="running case 1")
    waiting = here.start("user:ann", problem="her_problem")
    here.scopes[BOB] = ("docs", "admin")
    bob = here.client(BOB)
    page = bob.get("/").text
    assert page.count(">Cancel<") == 2
    assert 'class="mine"' not in page
    for text in (page, bob.get("/status.json").text):
        for part in (running, waiting, "her_problem"):
            assert part in text
    for job in (waiting, running):
        assert bob.post(f"/jobs/{job}/cancel", data={"csrf": csrf(bob)}).status_code == 200
        ended = here.jobs.find(job, "user:ann")
        assert ended.wait(60)
        assert ended.status == "cancelled"
        assert here.noted[-1] == ("user:bob", "page: cancel", job, "done user:ann")


def test_a_history_that_cannot_be_read_leaves_the_queue_on_the_page(
    here: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    from amdkernel_mcp.errors import DatabaseError
    from amdkernel_mcp.history.attempts import Attempts

    def fails(*_: object, **__: object) -> None:
        raise DatabaseError("/srv/secret cannot be read")

    monkeypatch.setattr(Attempts, "list", fails)
    page = here.client(ANN).get("/")
    assert page.status_code == 200
    assert "cannot be read" in page.text
    assert "/srv/secret" not in page.text
    finish(here)


def test_a_gpu_says_who_holds_it_through_whatever_server_and_for_how_long(here: Served) -> None:
    asked, granted = here.leases.ask(GPU, "exclusive", f"user:{HOSTILE}")
    assert granted
    gpu = here.client(ANN).get("/status.json").json()["targets"][0]
    assert (gpu["name"], gpu["state"], gpu["leases"][0]["kind"]) == ("gpu1:0", "busy", "exclusive")
    assert gpu["leases"][0]["seconds"] >= 0
    assert "held alone by &lt;b&gt;eve&lt;/b&gt;" in here.client(ANN).get("/").text
    assert here.leases.end(asked)
    assert here.client(ANN).get("/status.json").json()["targets"][0]["state"] == "idle"


def test_a_quarantined_gpu_is_on_the_page_with_its_reason_at_once(here: Served) -> None:
    ann = here.client(ANN)
    assert ann.get("/status.json").json()["targets"][0]["state"] == "idle"
    here.leases.health.quarantine(GPU, "gpu1:0", "nothing can be read", f"{TAG} is left")
    gpu = ann.get("/status.json").json()["targets"][0]
    assert (gpu["state"], gpu["note"]) == ("quarantined", f"{TAG} is left")
    page = ann.get("/").text
    assert "quarantined" in page
    assert TAG not in page
    here.leases.health.release(GPU)
    assert ann.get("/status.json").json()["targets"][0]["state"] == "idle"


def test_users_and_quotas_are_for_an_admin(here: Served) -> None:
    here.start("user:ann")
    here.start("user:oidc:carol")
    assert here.client(ANN).get("/status.json").json()["users"] is None
    assert "h-users" not in here.client(ANN).get("/").text
    here.scopes[BOB] = ("docs", "admin")
    status = here.client(BOB).get("/status.json").json()
    assert [(user["name"], user["running"], user["waiting"]) for user in status["users"]] == [
        (HOSTILE, 0, 0), ("ann", 1, 0), ("bob", 0, 0), ("oidc:carol", 0, 1),
    ]  # fmt: skip
    assert status["quotas"] == {"running": None, "waiting": 16, "gpu_seconds_a_day": None}
    page = here.client(BOB).get("/").text
    assert "each may have 16 waiting jobs" in page
    assert [user["emulator_seconds"] for user in status["users"]] == [0.0] * 4, "none of their jobs has ended"
    assert "emulated, last 24 h" in page
    assert HOSTILE not in page


def test_a_user_whose_token_is_in_a_file_was_last_seen_at_their_newest_attempt(here: Served) -> None:
    made = here.attempt("user:ann")
    here.scopes[BOB] = ("docs", "admin")
    bob = here.client(BOB)
    of = {each["name"]: each for each in bob.get("/status.json").json()["users"]}
    assert (of["ann"]["last_used"], of["ann"]["last_seen"], of["bob"]["last_seen"]) == (None, made.created, None)
    users = bob.get("/").text.partition('id="h-users"')[2]
    assert made.created in users.partition("</table>")[0]
    assert "measure on GPUs" in users
    assert ">gpu:time<" not in users
    assert 'href="/gpus"' in users.partition("</table>")[0]
