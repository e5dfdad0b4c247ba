"""A job's page: its log while it runs, and the same job again."""

from tests.pages.served import ANN, BOB, Served, finish
from tests.pages.test_team_page import TAG, csrf


def test_the_page_of_a_job_has_its_log_and_is_its_owners_and_an_admins(here: Served) -> None:
    job = here.start("user:ann", problem="row_softmax", says=TAG)
    assert here.jobs.find(job, "user:ann").status == "running"
    ann, bob = here.client(ANN), here.client(BOB)
    while "running case 2" not in (page := ann.get(f"/jobs/{job}").text):
        pass
    assert TAG not in page
    assert "&lt;img src=x" in page
    assert f"/jobs/{job}" in ann.get("/").text
    for path in (f"/jobs/{job}", f"/jobs/{job}/events"):
        assert bob.get(path).status_code == 404
    here.scopes[BOB] = ("docs", "admin")
    assert "by" in bob.get(f"/jobs/{job}").text.lower()
    assert here.noted[-1] == ("user:bob", "page: job", None, "done user:ann")
    finish(here, (job, "user:ann"))
    assert "Start again" in ann.get(f"/jobs/{job}").text
    assert "Start again" not in bob.get(f"/jobs/{job}").text


def test_a_job_is_started_again_by_its_owner_alone_with_a_form_of_this_server(here: Served) -> None:
    job = here.start("user:ann", problem="row_softmax")
    ann, bob = here.client(ANN), here.client(BOB)
    assert ann.post(f"/jobs/{job}/retry", data={"csrf": csrf(ann)}).status_code == 409, "it runs"
    finish(here, (job, "user:ann"))
    assert ann.post(f"/jobs/{job}/retry").status_code == 403
    here.scopes[BOB] = ("docs", "admin")
    assert bob.post(f"/jobs/{job}/retry", data={"csrf": csrf(bob)}).status_code == 404
    answer = ann.post(f"/jobs/{job}/retry", data={"csrf": csrf(ann)}, follow_redirects=False)
    assert answer.status_code == 303
    again = answer.headers["location"].rpartition("/")[2]
    assert again != job
    assert here.jobs.find(again, "user:ann").request == here.jobs.find(job, "user:ann").request
    assert ("user:ann", "page: retry", job, "done") in here.noted
    assert "row_softmax" in ann.get("/jobs").text


def test_an_admin_sees_the_jobs_of_the_team_and_a_user_their_own(here: Served) -> None:
    bob = here.client(BOB)
    assert "A job is one call of a tool" in (empty := bob.get("/jobs").text)
    assert "No job is kept now" in empty
    assert 'href="/#h-attempts"' in empty
    job = here.start("user:ann", problem="row_softmax", target="gpu1:0")
    finish(here, (job, "user:ann"))
    assert "row_softmax" not in bob.get("/jobs").text
    here.scopes[BOB] = ("docs", "admin")
    page = bob.get("/jobs").text
    for shown in ("The team&#39;s jobs", ">ann<", "row_softmax", "gpu1:0", "done", "correct", f'/jobs/{job}#log"'):
        assert shown in page
    assert 'id="log"' in bob.get(f"/jobs/{job}").text


def test_an_attempt_leads_to_its_job_where_one_is_kept(here: Served) -> None:
    made, alone = here.attempt(), here.attempt()
    job = here.start("user:ann", attempt=made.id)
    finish(here, (job, "user:ann"))
    ann = here.client(ANN)
    answer = ann.get(f"/attempts/{made.id}/job", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/jobs/{job}")
    assert ann.get(f"/attempts/{alone.id}/job").status_code == 404
    assert here.client(BOB).get(f"/attempts/{made.id}/job", follow_redirects=False).status_code == 404
    assert f'href="/attempts/{made.id}"' in ann.get("/jobs").text


def test_a_page_says_who_may_start_its_job_again_and_what_a_token_lacks(here: Served) -> None:
    job = here.start("user:ann", problem="row_softmax")
    ann, bob = here.client(ANN), here.client(BOB)
    here.scopes[BOB] = ("docs", "admin")
    assert "start it again" not in bob.get(f"/jobs/{job}").text, "it runs"
    finish(here, (job, "user:ann"))
    assert "ann can start it again: the button is on this page for them alone" in bob.get(f"/jobs/{job}").text
    assert "can start it again" not in ann.get(f"/jobs/{job}").text
    here.scopes[ANN] = ("docs",)
    page = ann.get(f"/jobs/{job}").text
    assert "check_kernel needs the scope `check`; your token has docs" in page
    assert "<button>Start again" not in page


def test_the_list_of_jobs_shows_what_went_wrong_and_starts_ones_own_again(here: Served) -> None:
    right, wrong = here.start("user:ann", problem="row_softmax"), here.start("user:ann", problem="gemm", fails=True)
    finish(here, (right, "user:ann"), (wrong, "user:ann"))
    ann, bob = here.client(ANN), here.client(BOB)
    page = ann.get("/jobs?show=wrong").text
    assert f"/jobs/{wrong}" in page
    assert f"/jobs/{right}" not in page
    assert "No job is like that" in ann.get("/jobs?show=open").text
    assert f"/jobs/{right}" not in ann.get("/jobs?problem=gemm").text
    assert ann.get("/jobs").text.count("Start again</button>") == 2
    here.scopes[BOB] = ("docs", "admin")
    assert f"/jobs/{wrong}" in bob.get("/jobs?user=ann&show=wrong").text
    assert "No job is like that" in bob.get("/jobs?user=bob").text
    assert "Start again</button>" not in bob.get("/jobs").text
