"""Who may what over HTTP: tokens that come and go while the server runs, scopes, and what the audit log says."""

import asyncio
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import ToolError
from fastmcp.server.auth.providers.jwt import RSAKeyPair
from sqlalchemy import Engine

from amdkernel_mcp.access.audit import AuditLog, Event
from amdkernel_mcp.access.opened import open_access
from amdkernel_mcp.access.tokens import TokenStore
from amdkernel_mcp.config import load_settings
from tests.server.http_server import ANN, BOB, HttpServer, http_server
from tests.waiting import AT_MOST_S

pytestmark = pytest.mark.anyio
ISSUER, AUDIENCE = "https://id.example", "amdkernel"
ENDLESS = """// amdkernel: launch vector_add grid=[1] block=[64]
#include <hip/hip_runtime.h>
extern "C" __global__ void vector_add(const float* x, const float* y, float* z, int n)
{
    for (;;)
        __builtin_amdgcn_s_sleep(1);
}
"""


@dataclass(frozen=True)
class Team:
    server: HttpServer
    store: TokenStore
    database: Engine
    issuer: RSAKeyPair
    tokens_file: Path

    def connect(self, token: str, mode: str = "auto") -> Client:
        return Client(StreamableHttpTransport(self.server.url, headers={"Authorization": f"Bearer {token}"}), mode=mode)

    def token(self, user: str, *scopes: str) -> str:
        return self.store.add(user, scopes)[0]

    def audit(self, user: str) -> list[Event]:
        return list(AuditLog(self.database, keep_days=90).list(user=user))


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("access")
    issuer = RSAKeyPair.generate()
    key = folder / "issuer.pem"
    key.write_text(issuer.public_key)
    settings: dict[str, Any] = {"oidc_issuer": ISSUER, "oidc_audience": AUDIENCE, "oidc_public_key": str(key)}
    with http_server(folder, tokens=f"{ANN} ann\n{BOB} bob\n", **settings) as server:
        database = open_access(load_settings({"data_dir": server.data}))
        yield Team(server, TokenStore(database), database, issuer, folder / "tokens")
        database.dispose()


def gone(team: Team, token: str) -> bool:
    deadline = time.monotonic() + AT_MOST_S
    while time.monotonic() < deadline:
        if team.server.post(token=token).status_code == 401:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_token_works_at_once_and_no_longer_once_revoked_also_in_an_open_session(team: Team, mode: str) -> None:
    token, added = team.store.add("cid", ["docs"])
    async with team.connect(token, mode) as client:
        await client.call_tool("list_jobs", {})
        team.store.revoke(added.id)
        assert gone(team, token)
        with pytest.raises(Exception, match="returned an error response"):
            await client.call_tool("list_jobs", {})
    assert team.server.log.read_text().count(token) == 0


@pytest.mark.thorough
async def test_an_expired_token_is_refused(team: Team) -> None:
    token, _ = team.store.add("dan", ["docs"], days=1 / 86400)
    assert gone(team, token)


def test_the_tokens_file_is_read_again_and_a_broken_one_is_refused_with_its_line(team: Team) -> None:
    new = "token-of-zoe-0123456789"
    before = team.tokens_file.read_text()
    try:
        team.tokens_file.write_text(f"{before}{new} zoe\n")
        assert team.server.post(token=new).status_code == 200
        team.tokens_file.write_text(before)
        assert team.server.post(token=new).status_code == 401
        team.tokens_file.write_text(f"{ANN} ann\n{BOB}\n")
        assert team.server.post(token=ANN).status_code == 401
        log = team.server.log.read_text()
        assert f"{team.tokens_file}:2: the line is not `TOKEN NAME`; its tokens are refused" in log
        assert "token-of" not in log
        assert team.server.post(token=team.token("eve", "docs")).status_code == 200, (
            "the database does not depend on it"
        )
        team.tokens_file.unlink()
        assert team.server.post(token=ANN).status_code == 401
    finally:
        team.tokens_file.touch(0o600)
        team.tokens_file.write_text(before)
    assert team.server.post(token=ANN).status_code == 200


async def test_a_missing_scope_is_named_and_noted_before_the_answer(team: Team) -> None:
    token = team.token("fay", "docs", "compile")
    async with team.connect(token) as client:
        with pytest.raises(ToolError, match=r"check_kernel needs the scope `check`; your token has compile, docs"):
            await client.call_tool("check_kernel", {"problem": "vector_add", "source": "SECRET SOURCE"})
        (refused,) = team.audit("fay")
    assert (refused.action, refused.outcome, refused.address) == ("check_kernel", "refused", "127.0.0.1")
    assert "`check`" in str(refused.reason)
    assert "SECRET" not in repr(refused)
    assert token not in repr(refused)


@pytest.mark.parametrize("target", ["local:0", "gpu9:0", "nonsense"])
async def test_without_gpu_time_no_gpu_is_timed_whatever_the_target_is_called(team: Team, target: str) -> None:
    async with team.connect(team.token("gus", "check")) as client:
        for tool in ("benchmark_kernel", "profile_kernel", "tune_kernel"):
            with pytest.raises(ToolError, match=rf"{tool} on {target} needs the scope `gpu:time`"):
                await client.call_tool(tool, {"problem": "vector_add", "source": "//", "target": target})
        sent = {"problem": "vector_add", "source": "//", "wait_s": 0}
        await client.call_tool("benchmark_kernel", sent)  # on the emulator: past the scope


async def test_a_session_gives_no_scope_of_the_token_that_opened_it(team: Team) -> None:
    """One user, two tokens: the library binds a session to its user, so the weaker token may use it."""
    strong, weak = team.token("hal", "docs", "compile"), team.token("hal", "docs")
    opened = team.server.post(token=strong)
    session = opened.headers["mcp-session-id"]
    sent = {"accept": "application/json, text/event-stream", "mcp-session-id": session}
    call = {
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "compile_kernel", "arguments": {"source": "//", "wait_s": 0}},
    }  # fmt: skip

    def answer(token: str) -> str:
        headers = sent | {"Authorization": f"Bearer {token}"}
        return httpx.post(team.server.url, json=call, headers=headers, timeout=AT_MOST_S).text

    assert "needs the scope `compile`" in answer(weak)
    assert "needs the scope" not in answer(strong)


async def test_the_job_of_another_user_is_not_found_read_or_cancelled(team: Team) -> None:
    async with team.connect(ANN) as ann, team.connect(team.token("ivy", "compile", "check")) as ivy:
        sent = {"source": "kernel", "wait_s": 0}
        job = (await ann.call_tool("compile_kernel", sent)).structured_content["job_id"]
        for cancel in (False, True):
            with pytest.raises(ToolError, match="there is no job"):
                await ivy.call_tool("get_job", {"job_id": job, "wait_s": 0, "cancel": cancel})
        found = await ann.call_tool("get_job", {"job_id": job})
        assert found.structured_content["status"] != "cancelled"


async def test_a_resource_needs_docs(team: Team) -> None:
    async with team.connect(team.token("jo", "check")) as client:
        with pytest.raises(Exception, match="needs the scope `docs`"):
            await client.read_resource("amdkernel://arch/gfx942")
    assert [event.action for event in team.audit("jo")] == ["resource"]


def test_rewards_need_docs(team: Team) -> None:
    url = team.server.url.replace("/mcp", "/reward")
    headers = {"Authorization": f"Bearer {team.token('kay', 'check')}"}
    answer = httpx.post(url, json={"attempts": ["x"]}, headers=headers, timeout=AT_MOST_S)
    assert (answer.status_code, "`docs`" in answer.text) == (403, True)


def test_the_page_needs_docs(team: Team) -> None:
    url = team.server.url.replace("/mcp", "/status.json")
    answers = {scope: {"Authorization": f"Bearer {team.token('lou', scope)}"} for scope in ("docs", "check")}
    statuses = {scope: httpx.get(url, headers=sent, timeout=AT_MOST_S).status_code for scope, sent in answers.items()}
    assert statuses == {"docs": 200, "check": 403}


async def test_a_call_is_noted_with_its_job(team: Team) -> None:
    token, added = team.store.add("<b>lee</b>", ["compile", "docs"])
    async with team.connect(token) as client:
        job = (await client.call_tool("compile_kernel", {"source": "kernel", "wait_s": 0})).structured_content["job_id"]
        with pytest.raises(ToolError):
            await client.call_tool("compile_kernel", {})
        with pytest.raises(ToolError):
            await client.call_tool("get_job", {"job_id": "job-that-nobody-has"})
    deadline = time.monotonic() + AT_MOST_S
    while len(found := team.audit("<b>lee</b>")) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [event.reason for event in found] == [
        "a mistake in the call: job error",
        "a mistake in the call: input error",
        None,
    ]
    assert [(event.outcome, event.job, event.token) for event in found] == [
        ("failed", "job-that-nobody-has", added.id),
        ("failed", None, added.id),
        ("done", job, added.id),
    ]


@pytest.mark.parametrize("status", [401, 421, 403])
def test_a_request_that_is_refused_before_any_tool_is_noted_once_a_minute(team: Team, status: int) -> None:
    for _ in range(5):
        if status == 401:
            assert team.server.post(token="amdk_" + "x" * 43).status_code == 401
        elif status == 421:
            assert team.server.post(host="attacker.example").status_code == 421
        else:
            assert team.server.post(origin="https://attacker.example").status_code == 403
    mine = [event for event in team.audit("") if str(event.reason).startswith(str(status))]
    assert 1 <= len(mine) <= 3, "other tests of this file may have begun another minute"
    assert {event.outcome for event in mine} == {"refused"}


def jwt(team: Team, **changed: object) -> str:
    claims: dict[str, object] = {"subject": "ann", "issuer": ISSUER, "audience": AUDIENCE, "scopes": ["docs"]}
    return team.issuer.create_token(**(claims | changed))  # type: ignore[arg-type]


async def test_a_user_of_the_identity_provider_has_its_scopes_and_is_not_the_token_user_of_this_name(
    team: Team,
) -> None:
    async with team.connect(jwt(team, scopes=["docs", "compile", "openid"])) as oidc, team.connect(ANN) as ann:
        job = (await ann.call_tool("compile_kernel", {"source": "k", "wait_s": 0})).structured_content["job_id"]
        with pytest.raises(ToolError, match="there is no job"):
            await oidc.call_tool("get_job", {"job_id": job, "wait_s": 0})
        with pytest.raises(ToolError, match="needs the scope `check`; your token has compile, docs"):
            await oidc.call_tool("check_kernel", {"problem": "vector_add", "source": "//"})
    outcomes = {event.action: event.outcome for event in team.audit("oidc:ann")}
    assert outcomes["check_kernel"] == "refused", outcomes


@pytest.mark.parametrize(
    "changed",
    [
        {"issuer": "https://other.example"},
        {"audience": "another"},
        {"expires_in_seconds": -60},
        {"subject": ""},
        {"subject": "a\nb"},
        {"additional_claims": {"exp": None}},
        {"additional_claims": {"sub": 7}},
    ],
    ids=str,
)
def test_a_json_web_token_that_does_not_fit_is_refused(team: Team, changed: dict[str, object]) -> None:
    assert team.server.post(token=jwt(team)).status_code == 200
    assert team.server.post(token=jwt(team, **changed)).status_code == 401


def test_a_json_web_token_of_another_key_or_of_none_is_refused(team: Team) -> None:
    import base64
    import json

    def part(value: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    claims: dict[str, object] = {"sub": "ann", "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 600}
    other = RSAKeyPair.generate().create_token(subject="ann", issuer=ISSUER, audience=AUDIENCE)
    unsigned = f"{part({'alg': 'none'})}.{part(claims)}."
    head, body, signature = jwt(team).split(".")
    changed = f"{head}.{part(claims | {'scope': 'admin'})}.{signature}"
    for token in (other, unsigned, changed, f"{head}.{body}.", "a.b.c", f"..{'x' * 20_000}"):
        assert team.server.post(token=token).status_code == 401, token[:60]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', b"\xff" * 100])
def test_a_bad_first_request_leaves_no_session(team: Team, body: bytes) -> None:
    answer = team.server.post_body(body)
    assert answer.status_code >= 400
    session = answer.headers.get("mcp-session-id", "none")
    headers = {"mcp-session-id": session, "Authorization": f"Bearer {ANN}", "accept": "text/event-stream"}
    assert httpx.delete(team.server.url, headers=headers, timeout=AT_MOST_S).status_code == 404


def test_without_a_token_no_session_is_opened(team: Team) -> None:
    assert "mcp-session-id" not in team.server.post(token=None).headers


@pytest.mark.thorough  # a server of its own
async def test_what_was_done_last_is_noted_although_the_server_is_stopped_at_once(tmp_path: Path) -> None:
    with http_server(tmp_path, tokens=f"{ANN} ann\n") as server:
        transport = StreamableHttpTransport(server.url, headers={"Authorization": f"Bearer {ANN}"})
        async with Client(transport) as client:
            for _ in range(20):
                await client.call_tool("list_jobs", {})
        server.process.terminate()
        server.process.wait(timeout=AT_MOST_S)
        database = open_access(load_settings({"data_dir": server.data}))
        assert len(AuditLog(database, keep_days=90).list(user="ann")) == 20
        database.dispose()


async def test_a_call_whose_client_left_is_noted_with_the_reason(team: Team) -> None:
    token = team.token("leaver", "check", "docs")
    asked = {"problem": "vector_add", "source": ENDLESS, "wait_s": 60}
    async with team.connect(token) as client, team.connect(token) as other:
        call = asyncio.create_task(client.call_tool("check_kernel", asked))
        while not (await other.call_tool("list_jobs", {})).structured_content["jobs"]:
            await asyncio.sleep(0.1)
        call.cancel()
    deadline = time.monotonic() + AT_MOST_S
    while not (noted := calls_of(team, "leaver", "check_kernel")) and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
    assert [(each.outcome, each.reason) for each in noted] == [("failed", "the caller cancelled the call or left")]


def calls_of(team: Team, user: str, action: str) -> list[Event]:
    return [event for event in team.audit(user) if event.action == action]


@pytest.mark.thorough
def test_a_client_that_leaves_within_its_request_leaves_no_traceback(team: Team) -> None:
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {ANN}\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", httpx.URL(team.server.url).port)) as connection:
        connection.sendall(
            f"{head}Accept: application/json, text/event-stream\r\nContent-Length: 99\r\n\r\n{{".encode()
        )
        time.sleep(0.5)
    assert team.server.post(token=ANN).status_code != 500
    time.sleep(0.5)
    assert "Traceback" not in team.server.log.read_text()
