"""The limits that docs/serve.md states are those of the code."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from fastmcp.server.middleware import rate_limiting
from fastmcp.server.middleware.rate_limiting import RateLimitingMiddleware
from mcp.server.transport_security import DEFAULT_MAX_REQUEST_BODY_SIZE

from amdkernel_mcp.access.scopes import SCOPES
from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.jobs.quotas import Quotas
from amdkernel_mcp.kernel_source import MAX_BYTES
from amdkernel_mcp.server import app
from amdkernel_mcp.server.admission.connections import LOG_LINES_PER_MINUTE
from amdkernel_mcp.server.admission.limits import (
    BODY_S,
    HEADER_BYTES,
    HEADER_S,
    KEPT_S,
    MESSAGE_BYTES,
    MOST_CONNECTIONS,
    REQUEST_BURST,
    REQUESTS_PER_S,
)
from amdkernel_mcp.server.admission.permissions import TOOL_SCOPES, needed
from amdkernel_mcp.server.admission.team import REMEMBERED_S, TeamTokens
from amdkernel_mcp.server.admission.tokens import ListedTokens
from amdkernel_mcp.server.app import build_server

PAGE = Path(__file__).parents[3] / "docs" / "serve.md"


def test_the_page_states_the_limits_of_the_code() -> None:
    page = PAGE.read_text()
    assert f"more than {REQUESTS_PER_S:g} requests a second from one user, after {REQUEST_BURST:,} at once" in page
    assert f"more than {Quotas().queued} waiting jobs" in page
    assert f"a kernel over {MAX_BYTES >> 20} MiB" in page
    assert f"a message over {MESSAGE_BYTES >> 20} MiB" in page


def test_the_page_states_the_limits_of_connections_and_tokens() -> None:
    page = " ".join(PAGE.read_text().split())
    assert f"complete within {HEADER_S:g} s and the rest {BODY_S:g} s later" in page
    assert f"closed after {KEPT_S} s, and a header over {HEADER_BYTES >> 10} KiB" in page
    each = Settings.model_fields["max_connections_per_address"].default
    assert f"more than {each} connections of one address" in page
    assert f"or {MOST_CONNECTIONS:,} of all addresses" in page
    assert f"The log has {LOG_LINES_PER_MINUTE} lines a minute" in page
    assert f"refused {REMEMBERED_S:g} seconds later at the latest" in page
    assert f"how long it is kept ({Settings.model_fields['audit_days'].default})" in page


def test_the_page_names_the_scope_of_each_tool() -> None:
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    opened = {row[1].strip(" `"): row[2] for row in rows}
    assert set(opened) == set(SCOPES)
    for tool, scopes in TOOL_SCOPES.items():
        named = {scope for scope, text in opened.items() if f"`{tool}`" in text}
        if tool == "get_job":
            assert not named, "in a sentence of its own"
        elif needed(tool, "local:0", default_target="") != scopes:
            assert named == scopes | {"gpu:time"}
        else:
            assert named == scopes


@pytest.mark.anyio
async def test_the_rate_is_the_documented_one(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    now = 1000.0
    monkeypatch.setattr(rate_limiting, "time", SimpleNamespace(monotonic=lambda: now))
    (limit,) = (each for each in build_server(settings).middleware if isinstance(each, RateLimitingMiddleware))

    async def allowed(tries: int) -> int:
        bucket = limit.limiters["ann"]
        return sum([await bucket.consume() for _ in range(tries)])

    assert await allowed(2 * REQUEST_BURST) == REQUEST_BURST
    now += 3
    assert await allowed(2 * REQUEST_BURST) == 3 * REQUESTS_PER_S


def test_over_http_the_library_has_the_same_limit_for_a_message() -> None:
    assert DEFAULT_MAX_REQUEST_BODY_SIZE == MESSAGE_BYTES


def test_a_message_has_room_for_a_kernel_and_its_baseline_however_they_are_escaped() -> None:
    assert MESSAGE_BYTES >= 2 * MAX_BYTES


def test_a_user_who_asks_too_often_for_rewards_waits_and_others_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "REQUEST_BURST", 2)
    monkeypatch.setattr(app, "REQUESTS_PER_S", 1e-6)
    users = {"token-of-ann-0000": "ann", "token-of-bob-0000": "bob"}
    settings = load_settings({"data_dir": tmp_path, "cache_dir": tmp_path, "tokens": users}, {})
    served = app.build_server(settings, auth=TeamTokens(ListedTokens(settings)))

    async def ask(names: list[str]) -> list[int]:
        transport = httpx.ASGITransport(served.http_app())
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            heads = [{"Authorization": f"Bearer token-of-{name}-0000"} for name in names]
            return [(await client.post("/reward", content=b"{", headers=head)).status_code for head in heads]

    assert asyncio.run(ask(["ann", "ann", "ann", "bob"])) == [400, 400, 429, 400]
