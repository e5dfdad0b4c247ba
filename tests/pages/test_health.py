"""Health and metrics: for this machine without a token, for others with one."""

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from amdkernel_mcp.errors import DatabaseError
from amdkernel_mcp.execution.machine import Machine
from amdkernel_mcp.history.attempts import Attempts
from tests.pages.served import ANN, GPU, Served, finish

PATHS = ("/healthz", "/readyz", "/metrics")


@pytest.fixture
def loopback(here: Served) -> TestClient:
    made = TestClient(here.app, base_url="http://127.0.0.1", client=("127.0.0.1", 50000))
    here.clients.append(made)
    return made


@pytest.fixture(autouse=True)
def sandbox_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Machine, "why_not_ready", lambda _: None)


@pytest.mark.parametrize("path", PATHS)
def test_this_machine_needs_no_token_and_others_do(here: Served, loopback: TestClient, path: str) -> None:
    assert loopback.get(path).status_code == 200
    assert here.client().get(path).status_code == 401
    assert here.client().get(path, headers={"authorization": f"Bearer {ANN}"}).status_code == 200
    assert here.client(ANN).get(path).status_code == 200


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
def test_a_proxy_on_this_machine_asks_for_others(loopback: TestClient, header: str) -> None:
    assert loopback.get("/metrics", headers={header: "127.0.0.1"}).status_code == 401


def test_ready_says_which_part_is_not(loopback: TestClient, here: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise DatabaseError("/srv/secret cannot be opened")

    ready = {"database": "ok", "sandbox": "ok", "queue": "ok"}
    assert loopback.get("/readyz").json() == {"ready": True, "parts": ready}
    monkeypatch.setattr(Machine, "why_not_ready", lambda _: "/srv/secret is missing")
    monkeypatch.setattr(Attempts, "list", fails)
    here.jobs.close()
    answer = loopback.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["parts"] == {
        "database": "the history cannot be read",
        "sandbox": "no kernel can run: see `amdkernel doctor`",
        "queue": "draining",
    }
    assert loopback.get("/healthz").status_code == 200, "it is alive"


def samples(client: TestClient) -> dict[tuple[str, ...], float]:
    """By name and values of the labels, `verb` first and the limit of a bucket last."""
    found = {}
    for family in text_string_to_metric_families(client.get("/metrics").text):
        for one in family.samples:
            labels = sorted(one.labels, key=lambda label: (label != "verb", label == "le"))
            found[one.name, *(one.labels[label] for label in labels)] = one.value
    return found


def test_metrics_count_what_runs_waits_and_ended(here: Served, loopback: TestClient) -> None:
    first, failing, cancelled = here.start("user:ann"), here.start("user:bob", fails=1), here.start("user:ann")
    now = samples(loopback)
    assert (now["amdkernel_running", "emulator"], now["amdkernel_queue_length", "emulator"]) == (1, 2)
    assert (now["amdkernel_running", "compile"], now["amdkernel_queue_length", "compile"]) == (0, 0)
    here.jobs.cancel(here.jobs.find(cancelled, "user:ann"))
    finish(here, (first, "user:ann"), (failing, "user:bob"))
    ended = samples(loopback)
    assert ended["amdkernel_queue_length", "emulator"] == 0
    for status in ("done", "failed", "cancelled"):
        assert ended["amdkernel_jobs_total", "check", status] == 1
    assert ended["amdkernel_verdicts_total", "check", "correct"] == 1
    assert ended["amdkernel_errors_total", "check", "RuntimeError"] == 1
    assert ended["amdkernel_wait_seconds_count", "emulator"] == 2, "a job that never began waited for nothing"
    assert ended["amdkernel_run_seconds_bucket", "check", "+Inf"] == 2


def test_metrics_name_no_user(here: Served, loopback: TestClient) -> None:
    here.start("user:ann", problem="secret_problem")
    text = loopback.get("/metrics").text
    assert "ann" not in text
    assert "secret" not in text


def test_metrics_say_which_gpus_are_held_and_quarantined(here: Served, loopback: TestClient) -> None:
    here.leases.health.quarantine(GPU, "gpu1:0", "nothing can be read", "it is left busy")
    here.leases.ask(GPU, "shared", "user:ann")
    now = samples(loopback)
    assert (now["amdkernel_gpu_quarantined", GPU, "gpu1:0"], now["amdkernel_gpu_held", GPU, "gpu1:0"]) == (1, 1)
    here.leases.health.release(GPU)
    assert samples(loopback)["amdkernel_gpu_quarantined", GPU, "gpu1:0"] == 0
