"""`POST /reward`: who may ask, which records count, and what is refused."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.history.attempt import Attempt, new_id, now
from amdkernel_mcp.history.history import History
from amdkernel_mcp.reward import CORRECT
from tests.server.http_server import ANN, HttpServer, http_server
from tests.waiting import AT_MOST_S


@dataclass(frozen=True)
class Served:
    server: HttpServer
    history: History

    def ask(self, body: object, *, token: str | None = ANN, **headers: str) -> httpx.Response:
        given = headers | ({"Authorization": f"Bearer {token}"} if token else {})
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        url = self.server.url.removesuffix("/mcp") + "/reward"
        return httpx.post(url, content=content, headers=given, timeout=AT_MOST_S)

    def attempt(self, *, by: str = "user:ann", verdict: str = "correct") -> Attempt:
        made = _attempt(self.history, by, verdict)
        self.history.add(made)
        return made


def _attempt(history: History, by: str, verdict: str) -> Attempt:
    source = history.artefacts.keep(b"// kernel")
    return Attempt(
        id=new_id(), verb="check", created=now(), by=by, parent=None, version="0", file_name="k.hip", source=source,
        baseline=None, problem=None, target="emulator:gfx942", options={}, verdict=verdict, answer={},
    )  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("rewards")
    history = History(load_settings({"data_dir": folder / "data", "cache_dir": folder / "cache"}))
    with http_server(folder, tokens=f"{ANN} ann\n") as server:
        yield Served(server, history)
    history.close()


def exported(history: History, attempt: Attempt) -> dict[str, Any]:
    stored = history.find(attempt.id)
    return {"record": stored.record.decode(), "signature": base64.b64encode(stored.signature).decode()}


def test_a_batch_is_valued_in_its_order(served: Served) -> None:
    right, wrong, bobs = served.attempt(), served.attempt(verdict="incorrect"), served.attempt(by="user:bob")
    body = {"attempts": [wrong.id, right.id], "records": [exported(served.history, bobs)]}
    answer = served.ask(body)
    assert answer.status_code == 200, answer.text
    found = answer.json()["rewards"]
    assert [(each["attempt"], each["reward"]) for each in found] == [
        (wrong.id, 0),
        (right.id, CORRECT),
        (bobs.id, CORRECT),
    ]


@pytest.mark.parametrize("token", [None, "unknown-token-00000000", ANN[:-1]])
def test_no_request_without_a_known_token_is_answered(served: Served, token: str | None) -> None:
    answer = served.ask({"attempts": ["a"]}, token=token)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_pages_and_other_hosts_are_refused(served: Served) -> None:
    assert served.ask({}, origin="https://attacker.example").status_code == 403
    assert served.ask({}, host="attacker.example").status_code == 421


def test_attempts_of_others_are_not_found(served: Served) -> None:
    bobs = served.attempt(by="user:bob")
    answer = served.ask({"attempts": [bobs.id]})
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, f"there is no attempt {bobs.id!r}")


def test_a_record_that_this_server_did_not_sign_is_refused(served: Served, tmp_path: Path) -> None:
    changed = exported(served.history, served.attempt(verdict="incorrect"))
    changed["record"] = changed["record"].replace('"incorrect"', '"correct"')
    other = History(load_settings({"data_dir": tmp_path / "data"}))
    foreign = _attempt(other, "user:ann", "correct")
    other.add(foreign)
    for record in (changed, exported(other, foreign), changed | {"signature": "AAAA"}):
        answer = served.ask({"records": [record]})
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, "this server did not sign this record")
    other.close()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "Invalid JSON"),
        ({}, "name 1 to 256"),
        ({"attempts": ["a"] * 257}, "at most 256 items"),
        ({"attempts": ["a"], "cap": 0}, "the cap of the speed-up"),
        ({"attempts": ["a"], "shaping": "much"}, "shaping"),
        ({"attempts": ["a"], "baseline": "naive.hip"}, "baseline"),
        ({"attempts": ["a"], "secret": 1}, "secret"),
        ({"records": [{"record": "{}", "signature": "?"}]}, "a signature is base64"),
    ],
)
def test_a_bad_request_is_explained(served: Served, body: object, said: str) -> None:
    answer = served.ask(body)
    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]


def test_a_long_request_is_refused(served: Served) -> None:
    assert served.ask(b" " * (5 << 20)).status_code == 413
