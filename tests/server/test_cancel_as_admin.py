"""An admin ends the job of another user, and learns nothing of it but how it stands."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth
from fastmcp.exceptions import ToolError
from sqlalchemy import Engine

from amdkernel_mcp.access.audit import AuditLog, Event
from amdkernel_mcp.access.opened import open_access
from amdkernel_mcp.access.tokens import TokenStore
from amdkernel_mcp.config import load_settings
from tests.remote.shell import amdkernel, end_all_jobs
from tests.server.http_server import ANN, BOB, HttpServer, http_server
from tests.waiting import AT_MOST_S, wait_until

pytestmark = pytest.mark.anyio
GATED = Path(__file__).parent / "gated_server.py"
SENT = {"source": "SECRET SOURCE", "wait_s": 0}


@pytest.fixture(scope="module")
def gated_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    folder = tmp_path_factory.mktemp("gated")
    with http_server(folder, tokens=f"{ANN} ann\n{BOB} bob\n", program=GATED, max_workers="1") as server:
        yield server


@pytest.fixture
def gated(gated_server: HttpServer) -> Iterator[HttpServer]:
    """Nothing ends by itself here; one job runs at a time, and none is left for the next test."""
    yield gated_server
    end_all_jobs(gated_server)


@pytest.fixture(scope="module")
def database(gated_server: HttpServer) -> Iterator[Engine]:
    opened = open_access(load_settings({"data_dir": gated_server.data}))
    yield opened
    opened.dispose()


@pytest.fixture(scope="module")
def root(database: Engine) -> str:
    return TokenStore(database).add("root", ["admin"])[0]


def connect(server: HttpServer, token: str) -> Client[Any]:
    return Client(server.url, auth=BearerAuth(token))


async def ask(client: Client[Any], job: str, **arguments: object) -> dict[str, Any]:
    answer = (await client.call_tool("get_job", {"job_id": job, "wait_s": 5, **arguments})).structured_content
    assert answer is not None
    return answer


async def is_seen(client: Client[Any], job: str, status: str) -> None:
    """Returns once the job stands so."""
    with anyio.fail_after(AT_MOST_S):
        while (await ask(client, job, wait_s=0))["status"] != status:
            await anyio.sleep(0.2)


async def begun(client: Client[Any]) -> str:
    answer = (await client.call_tool("compile_kernel", SENT)).structured_content
    assert answer is not None
    return str(answer["job_id"])


def audit(database: Engine, user: str, action: str) -> list[Event]:
    log = AuditLog(database, keep_days=90)
    return wait_until(lambda: [each for each in log.list(user=user) if each.action == action], f"{action} is noted")


async def test_an_admin_ends_the_running_and_the_waiting_job_of_another_user(
    gated: HttpServer, database: Engine, root: str
) -> None:
    async with connect(gated, ANN) as ann, connect(gated, root) as admin:
        jobs = [await begun(ann), await begun(ann)]
        seen = await ask(admin, jobs[0], wait_s=0)
        assert (seen["status"], seen["owner"]) == ("running", "user:ann")
        assert not [name for name in ("progress", "error", "compile") if seen.get(name)], "its owner's alone"
        for job in reversed(jobs):
            ended = await ask(admin, job, cancel=True)
            assert (ended["status"], ended["owner"]) == ("cancelled", "user:ann")
            assert (await ask(ann, job))["status"] == "cancelled"
        for event, job in zip(audit(database, "root", "get_job: cancel"), jobs, strict=True):  # newest first
            assert (event.job, event.outcome, event.reason) == (job, "done", "a job of ann")


async def test_without_admin_the_job_of_another_user_is_like_none(gated: HttpServer) -> None:
    async with connect(gated, ANN) as ann, connect(gated, BOB) as bob:
        job = await begun(ann)
        said = []
        for asked in (job, "job-0123456789ab"):
            with pytest.raises(ToolError) as error:
                await ask(bob, asked, cancel=True)
            said.append(str(error.value).replace(asked, "ID"))
        assert said[0] == said[1]
        assert "there is no job" in said[0]
        assert (await ask(ann, job, wait_s=0))["status"] == "running"
        await ask(ann, job, cancel=True)


async def test_an_admin_ends_a_job_from_a_shell(gated: HttpServer, root: str) -> None:
    async with connect(gated, ANN) as ann:
        job = await begun(ann)
        code, out, err = amdkernel(gated.url, "job", job, "--cancel", token=BOB)
        assert code == 2
        assert f"there is no job '{job}'" in err + out
        code, out, _ = amdkernel(gated.url, "job", job, "--cancel", token=root)
        assert (code, out) == (0, f"{job}, a job of ann, is cancelled\n")
        assert (await ask(ann, job))["status"] == "cancelled"


@pytest.mark.thorough  # a second server, whose journal is asked every 10 s
async def test_an_admin_ends_a_job_that_another_server_of_the_team_runs(gated: HttpServer, root: str) -> None:
    folder = gated.data.parent
    with http_server(folder, tokens=f"{ANN} ann\n{BOB} bob\n", program=GATED, max_workers="1") as other:
        async with connect(gated, ANN) as ann, connect(other, root) as admin:
            job = await begun(ann)
            ended = await ask(admin, job, cancel=True)
            assert (ended["status"], ended["owner"]) == ("cancelled", "user:ann")
            await is_seen(ann, job, "cancelled")
            following = await begun(ann)
            assert (await ask(ann, following, wait_s=1))["status"] == "running", "its place is free"
            await ask(ann, following, cancel=True)


@pytest.mark.thorough  # two servers
async def test_a_job_of_a_revoked_user_is_ended_after_a_restart(tmp_path: Path) -> None:
    tokens = f"{ANN} ann\n"
    with http_server(tmp_path, tokens=tokens, program=GATED) as server:
        async with connect(server, ANN) as ann:
            job = await begun(ann)
            server.process.kill()
    opened = open_access(load_settings({"data_dir": tmp_path / "data"}))
    root = TokenStore(opened).add("root", ["admin"])[0]
    opened.dispose()
    with http_server(tmp_path, tokens=f"{BOB} bob\n", program=GATED) as server:
        assert server.post(token=ANN).status_code == 401
        async with connect(server, root) as admin:
            await is_seen(admin, job, "running")
            assert (await ask(admin, job, cancel=True))["status"] == "cancelled"
            (server.data / "gate").touch()
