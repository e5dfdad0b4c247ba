"""What the page and `/status.json` say of hosts whose workers drain, have left, or left long ago."""

from typing import Any

import pytest

from amdkernel_mcp.pages.status import AWAY_S
from amdkernel_mcp.workers.messages import Draining
from tests.pages.served import ANN, Served, join


def seen(here: Served, name: str = "box9") -> dict[str, Any] | None:
    targets = here.client(ANN).get("/status.json").json()["targets"]
    return next((each for each in targets if each["name"] == f"{name}:gfx942"), None)


def later(here: Served, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """The clock moves on and stands still from then on, so that no busy machine adds a second."""
    now = here.workers._clock() + seconds
    monkeypatch.setattr(here.workers, "_clock", lambda: now)


def test_a_target_whose_worker_is_lost_is_not_busy_with_the_job_that_waits(
    here: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = join(here)
    here.start("user:ann", target="box9:gfx942")
    found = seen(here)
    assert found is not None
    assert (found["state"], len(found["jobs"])) == ("busy", 1)
    later(here, monkeypatch, 0)
    here.workers.leave(connection)
    for seconds in (11, 20):
        later(here, monkeypatch, seconds)
        found = seen(here)
        assert found is not None
        assert (found["state"], len(found["jobs"])) == ("unreachable", 1)
    assert found["note"] == "the worker of box9 left 31 s ago"


def test_a_worker_that_drains_is_shown_as_draining_at_once(here: Served) -> None:
    connection = join(here)
    found = seen(here)
    assert found is not None
    assert found["state"] == "idle"
    connection.receive(Draining())
    found = seen(here)
    assert found is not None
    assert (found["state"], found["note"]) == ("draining", "the worker of box9 is draining")
    assert 'class="state draining"' in here.client(ANN).get("/").text


def test_a_host_whose_worker_left_long_ago_is_a_name_and_not_counted(
    here: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.workers.leave(join(here, "box8"))
    join(here)
    assert seen(here, "box8") is not None
    later(here, monkeypatch, AWAY_S + 1)
    assert seen(here, "box8") is None
    assert seen(here) is not None
    assert here.client(ANN).get("/status.json").json()["away"] == ["box8"]
    page = here.client(ANN).get("/").text
    assert "away: box8</p>" in page
    assert "box8:" not in page
