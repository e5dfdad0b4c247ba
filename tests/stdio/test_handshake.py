"""The answers that are kept in the package are those that the server gives."""

import json
import os
from pathlib import Path

from amdkernel_mcp.stdio import handshake


def test_the_kept_answers_are_those_of_a_server_started_now() -> None:
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
    assert handshake.read() is not None


def test_a_client_is_answered_in_its_version_and_a_stranger_in_the_newest() -> None:
    kept = handshake.read()
    assert kept is not None
    for asked, told in (("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2031-01-01", "2025-11-25")):
        answer = kept.answer({"method": "initialize", "params": {"protocolVersion": asked}})
        assert answer is not None
        assert answer["protocolVersion"] == told


def test_all_lists_that_clients_ask_for_before_their_first_turn_are_kept() -> None:
    kept = handshake.read()
    assert kept is not None
    assert all(kept.answer({"method": method}) is not None for method in handshake.LISTS)


def test_what_only_the_server_can_tell_is_left_to_it() -> None:
    kept = handshake.read()
    assert kept is not None
    modern = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    for request in (
        {"method": "server/discover"},
        {"method": "tools/call", "params": {"name": "get_job"}},
        {"method": "tools/list", "params": {"cursor": "x"}},
        {"method": "tools/list", "params": modern},
        {"method": "ping"},
        {"method": None},
    ):
        assert kept.answer(request) is None, request
