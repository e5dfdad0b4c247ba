"""The recorded answers are those of the server, and only requests that they answer are answered with them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from amdkernel_mcp.stdio import handshake
from amdkernel_mcp.stdio.handshake import Era, Handshake

ENVELOPE = {handshake.VERSION_KEY: "2026-07-28", handshake.CAPABILITIES_KEY: {}}


def enveloped(method: str, **params: Any) -> dict[str, Any]:
    return {"method": method, "params": {"_meta": ENVELOPE, **params}}


@pytest.fixture(scope="module")
def recorded() -> Handshake:
    found = handshake.read()
    assert found is not None
    return found


def test_the_recorded_answers_are_those_of_a_server_started_now() -> None:
    now = handshake.record()
    if os.environ.get("ACCEPT_SNAPSHOTS"):
        handshake.FILE.write_text(now, encoding="utf-8")
    assert handshake.FILE.read_text(encoding="utf-8") == now, "regenerate it: python -m amdkernel_mcp.stdio.handshake"


def test_answers_of_another_version_are_not_used(tmp_path: Path) -> None:
    answers = json.loads(handshake.FILE.read_text())
    file = tmp_path / "handshake.json"
    file.write_text(json.dumps(answers | {"version": "0.0.0"}))
    assert handshake.read(file) is None
    file.write_text("{")
    assert handshake.read(file) is None
    assert handshake.read(tmp_path / "none.json") is None


@pytest.mark.parametrize(
    ("asked", "answered"), [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2031-01-01", "2025-11-25")]
)
def test_initialize_is_answered_in_the_clients_version_if_known_else_in_the_newest(
    recorded: Handshake, asked: str, answered: str
) -> None:
    answer = recorded.answer({"method": "initialize", "params": {"protocolVersion": asked}}, None)
    assert answer is not None
    assert answer["result"]["protocolVersion"] == answered


@pytest.mark.parametrize("method", handshake.LISTS)
def test_every_list_is_answered_in_both_eras_and_names_the_same_things(recorded: Handshake, method: str) -> None:
    old = recorded.answer({"method": method}, "handshake")
    new = recorded.answer(enveloped(method), "envelope")
    assert old is not None
    assert new is not None
    assert new["result"]["resultType"] == "complete"
    assert {key: new["result"][key] for key in old["result"]} == old["result"]


def test_discover_is_answered_with_the_servers_versions(recorded: Handshake) -> None:
    answer = recorded.answer(enveloped("server/discover"), None)
    assert answer is not None
    assert answer["result"]["supportedVersions"] == ["2026-07-28"]


def test_discover_in_an_unknown_version_names_the_versions_that_are_served(recorded: Handshake) -> None:
    request = {"method": "server/discover", "params": {"_meta": {**ENVELOPE, handshake.VERSION_KEY: "2031-01-01"}}}
    answer = recorded.answer(request, None)
    assert answer is not None
    assert answer["error"]["code"] == -32022
    assert answer["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2031-01-01"}


@pytest.mark.parametrize("method", ["server/discover", "tools/list"])
@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({handshake.VERSION_KEY: "2026-07-28"}, -32602),
        ({handshake.VERSION_KEY: "2026-07-28", handshake.CAPABILITIES_KEY: 7}, -32602),
        ({**ENVELOPE, handshake.VERSION_KEY: 7}, -32602),
        ({**ENVELOPE, handshake.VERSION_KEY: None}, -32602),
        ({**ENVELOPE, handshake.VERSION_KEY: "2099-01-01"}, -32022),
    ],
)
def test_an_opening_request_that_is_not_valid_is_refused_without_the_server(
    recorded: Handshake, method: str, meta: dict[str, Any], code: int
) -> None:
    answer = recorded.answer({"method": method, "params": {"_meta": meta}}, None)
    assert answer is not None, "the server would bind itself to this era, and refuse a later `initialize`"
    assert answer["error"]["code"] == code


@pytest.mark.parametrize(
    ("request_", "era"),
    [
        ({"method": "server/discover"}, None),
        ({"method": "tools/call", "params": {"name": "get_job"}}, None),
        ({"method": "tools/list", "params": {"cursor": "x"}}, None),
        ({"method": "ping"}, None),
        ({"method": None}, None),
        ({"method": "tools/list", "params": ["x"]}, "envelope"),
        (enveloped("server/discover"), "handshake"),
        (enveloped("tools/list"), "handshake"),
        ({"method": "initialize", "params": {"protocolVersion": "2025-06-18"}}, "envelope"),
    ],
)
def test_what_only_the_server_can_answer_is_left_to_it(
    recorded: Handshake, request_: dict[str, Any], era: Era | None
) -> None:
    assert recorded.answer(request_, era) is None
