"""The page of `amdkernel serve` itself: that its routes are there, behind the checks of host and origin."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.pages.served import ANN, BOB, EVE, HOSTILE
from tests.server.http_server import http_server
from tests.waiting import AT_MOST_S


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    tokens = f"{ANN} ann\n{BOB} bob\n{EVE} {HOSTILE}\n"
    with http_server(tmp_path_factory.mktemp("page"), tokens=tokens) as server:
        yield server.url.removesuffix("/mcp")


@pytest.fixture
def browser(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=address, timeout=AT_MOST_S, follow_redirects=True, headers={"accept": "text/html"}
    ) as client:
        yield client


def test_a_user_signs_in_and_sees_targets_and_their_name_escaped(browser: httpx.Client, address: str) -> None:
    assert browser.get("/").status_code == 401
    page = browser.post("/sign-in", data={"token": EVE}, headers={"origin": address})
    assert (page.status_code, page.url.path) == (200, "/")
    assert "emulator:gfx942" in page.text
    assert "&lt;b&gt;eve&lt;/b&gt;" in page.text
    assert HOSTILE not in page.text
    for file in ("page.css", "live.js", "icon.svg"):
        assert browser.get(f"/static/{file}").status_code == 200


def test_forms_of_other_sites_and_other_host_names_are_refused(browser: httpx.Client) -> None:
    form = {"token": ANN}
    assert browser.post("/sign-in", data=form, headers={"origin": "https://attacker.example"}).status_code == 403
    assert browser.post("/sign-in", data=form, headers={"origin": "null"}).status_code == 403
    assert browser.get("/", headers={"host": "attacker.example"}).status_code == 421


def test_updates_come_as_events_until_the_connection_ends(browser: httpx.Client) -> None:
    browser.post("/sign-in", data={"token": ANN})
    with browser.stream("GET", "/events") as events:
        assert events.headers["content-type"].startswith("text/event-stream")
        lines = (line for line in events.iter_lines() if line.startswith("event:"))
        first = {next(lines) for _ in range(4)}
        assert first == {f"event: {part}" for part in ("live", "users", "best", "attempts")}


def test_health_and_metrics_are_there_for_this_machine(address: str) -> None:
    assert httpx.get(f"{address}/healthz", timeout=AT_MOST_S).text == "ok\n"
    metrics = httpx.get(f"{address}/metrics", timeout=AT_MOST_S)
    assert metrics.status_code == 200
    assert 'amdkernel_queue_length{lane="emulator"} 0' in metrics.text


@pytest.mark.thorough
def test_a_server_without_tokens_shows_this_machine_its_page_at_once(tmp_path: Path) -> None:
    with http_server(tmp_path, tokens=None) as server:
        page = httpx.get(server.url.removesuffix("/mcp"), timeout=AT_MOST_S)
        assert page.status_code == 200
        assert "Sign out" not in page.text
