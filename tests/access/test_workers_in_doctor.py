"""What the doctor says of workers: none, connected, left, silent, refused for its version."""

import re
import time
from dataclasses import replace

import pytest
from sqlalchemy import Engine, update

from amdkernel_mcp.access.audit import AuditLog, Event
from amdkernel_mcp.access.tokens import TokenStore
from amdkernel_mcp.access.workers import worker_checks
from amdkernel_mcp.database.tables import tokens
from amdkernel_mcp.results.access import ListedGpu
from amdkernel_mcp.results.machine import DoctorCheck

LINE = Event(0.0, "gpu7", None, "192.0.2.7", "", None, None, None, "done", None)


def gpu(target: str, state: str = "usable") -> ListedGpu:
    nothing = dict.fromkeys(("reason", "since", "looked", "seen"))
    return ListedGpu.model_validate({"id": f"id of {target}", "target": target, "state": state, **nothing})


class Server:
    def __init__(self, database: Engine) -> None:
        self.database, self.store = database, TokenStore(database)
        self.log = AuditLog(database, keep_days=90)
        self.gpus: list[ListedGpu] = []
        self.refused: list[Event] = []
        self.token: str | None = None

    def add_token(self) -> None:
        self.text, added = self.store.add("gpu7", ["worker"])
        self.token = added.id

    def uses_token(self, ago_s: float = 0.0) -> None:
        assert self.store.find(self.text)
        with self.database.begin() as connection:
            connection.execute(update(tokens).values(last_used=tokens.c.last_used - ago_s))

    def says(self, what: str, ago_s: float, reason: str | None = None) -> None:
        action = f"worker gpu7 {what}"
        self.log.write(replace(LINE, at=time.time() - ago_s, token=self.token, action=action, reason=reason))

    @property
    def checks(self) -> list[DoctorCheck]:
        return [*worker_checks(self.store.list(), self.log.workers(), self.refused, self.gpus)]


@pytest.fixture
def server(database: Engine) -> Server:
    return Server(database)


def test_without_a_token_for_workers_nothing_is_said(server: Server) -> None:
    server.store.add("ann", ["docs"])
    assert server.checks == []


def test_a_token_without_a_worker_says_what_to_start(server: Server) -> None:
    server.add_token()
    (check,) = server.checks
    assert (check.name, check.status) == ("workers", "warning")
    assert check.found == "none is connected; the valid tokens with the scope `worker` are those of gpu7"
    assert check.remedy == "on the GPU host: amdkernel worker --url ADDRESS --token-file FILE --name NAME"


def test_a_worker_that_is_connected_is_shown_with_its_gpus(server: Server) -> None:
    server.add_token()
    server.says("left", 900)
    server.says("connected", 600)
    server.uses_token()
    server.gpus = [gpu("gpu7:0"), gpu("gpu70:0")]
    (check,) = server.checks
    assert (check.name, check.status) == ("worker gpu7", "ok")
    assert re.fullmatch(r"connected for 10 min, seen \d s ago; gpu7:0 usable", check.found)


def test_a_quarantined_gpu_of_a_connected_worker_is_a_warning(server: Server) -> None:
    server.add_token()
    server.says("connected", 600)
    server.uses_token()
    server.gpus = [gpu("gpu7:1", "quarantined")]
    warning = server.checks[-1]
    assert warning.status == "warning"
    assert "amdkernel admin gpus release id of gpu7:1" in str(warning.remedy)


def test_a_worker_that_left_is_shown_with_the_reason(server: Server) -> None:
    server.add_token()
    server.says("connected", 600)
    server.says("left", 200, "nothing came for 15 s")
    none, check = server.checks
    assert none.name == "workers"
    assert (check.status, check.found) == ("warning", "left 3 min ago: nothing came for 15 s")
    assert str(check.remedy).endswith("--name gpu7")


def test_a_worker_whose_server_was_killed_is_not_called_connected(server: Server) -> None:
    server.add_token()
    server.says("connected", 7200)
    server.uses_token(ago_s=3600)
    assert server.checks[-1].found == "left 1 h ago, without a word"


def test_a_worker_of_another_version_is_shown_with_both(server: Server) -> None:
    server.add_token()
    reason = "this worker has version 0.1.0 of amdkernel-mcp, and the server has 0.2.0"
    server.refused = [replace(LINE, at=time.time() - 60, outcome="refused", reason=reason)]
    check = server.checks[-1]
    assert check.found == f"refused 1 min ago, from 192.0.2.7: {reason}"
    assert "install the server's version there" in str(check.remedy)
