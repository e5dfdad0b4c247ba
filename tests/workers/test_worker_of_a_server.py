"""`amdkernel serve` with `amdkernel worker`: jobs on a worker's targets, what users see, and the audit log."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from fastmcp import Client
from fastmcp.client.auth import BearerAuth
from fastmcp.exceptions import ToolError

from amdkernel_mcp.bundled import folder as bundled_folder
from tests.server.http_server import ANN, HttpServer, free_port, http_server
from tests.waiting import AT_MOST_S
from tests.workers.server_with_workers import AMDKERNEL, until

pytestmark = [pytest.mark.anyio, pytest.mark.sandbox, pytest.mark.thorough, pytest.mark.usefixtures("sandbox")]

KERNEL = (bundled_folder("examples") / "vector_add" / "kernels" / "better.hip").read_text()
HANGS = 'extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) { while (a[0] == a[0]) __builtin_amdgcn_s_sleep(1); c[0] = 1; }\n'  # fmt: skip  # noqa: E501
HANGING = "// amdkernel: launch vector_add grid=[1] block=[64]\n" + HANGS
TOKENS = f"{ANN} ann\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Team:
    """A folder with the data of servers, all at one port, and the token of its worker."""

    folder: Path
    port: int
    token: str

    def command(self, *arguments: str, **environment: str) -> str:
        own = os.environ | {"AMDKERNEL_DATA_DIR": str(self.folder / "data")} | environment
        return subprocess.run([AMDKERNEL, *arguments], env=own, capture_output=True, text=True, check=True).stdout

    def serve(self) -> Any:
        return http_server(self.folder, tokens=TOKENS, port=self.port)

    @contextmanager
    def worker(self, name: str = "big") -> Iterator[subprocess.Popen[bytes]]:
        log = self.folder / f"{name}.log"
        command = [AMDKERNEL, "worker", "--url", f"http://127.0.0.1:{self.port}", "--name", name, "--emulator"]
        with log.open("ab") as stderr:
            process = subprocess.Popen(command, env=os.environ | {"AMDK_TOKEN": self.token}, stderr=stderr)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(120)

    def times_connected(self, name: str = "big") -> int:
        return (self.folder / f"{name}.log").read_text().count("connected to")


@pytest.fixture
def team(tmp_path: Path) -> Team:
    made = Team(tmp_path, free_port(), "")
    printed = made.command("admin", "tokens", "add", "*", "--scope", "worker")
    made.token = printed.splitlines()[0]
    return made


async def call(server: HttpServer, tool: str, **arguments: object) -> dict[str, Any]:
    async with Client(server.url, auth=BearerAuth(ANN)) as client:
        answer = (await client.call_tool(tool, arguments)).structured_content
    assert answer is not None
    return answer


async def check(server: HttpServer, source: str = KERNEL, wait_s: int = 100) -> dict[str, Any]:
    asked = {"problem": "vector_add", "source": source, "target": "big:gfx942", "wait_s": wait_s}
    return await call(server, "check_kernel", **asked)


async def test_every_verb_runs_on_a_workers_target(team: Team) -> None:
    with team.serve() as server, team.worker():
        until(lambda: team.times_connected() == 1)
        asked = {"problem": "vector_add", "source": KERNEL, "target": "big:gfx942", "wait_s": 200}
        assert (await check(server))["verdict"] == "correct"
        timed = await call(server, "benchmark_kernel", **asked)
        assert timed["time_us"]["evidence"] == "modelled"
        profiled = await call(server, "profile_kernel", **asked)
        assert profiled["kernels"][0]["name"] == "vector_add"
        assert (team.folder / "data").exists()


async def test_a_job_of_a_killed_server_is_repeated_when_server_and_worker_are_back(team: Team) -> None:
    with team.serve() as server, team.worker():
        until(lambda: team.times_connected() == 1)
        accepted = await check(server, wait_s=0)
        server.process.kill()
        server.process.wait()
        with team.serve() as second:
            found = await call(second, "get_job", job_id=accepted["job_id"], wait_s=150)
            assert (found["status"], found["check"]["verdict"]) == ("done", "correct")
        assert team.times_connected() == 2


async def test_a_cancelled_job_ends_the_container_on_the_worker(team: Team) -> None:
    with team.serve() as server, team.worker() as process:
        until(lambda: team.times_connected() == 1)
        accepted = await check(server, HANGING, wait_s=0)
        until(lambda: "run_job" in processes_of(process))
        began = time.monotonic()
        await call(server, "get_job", job_id=accepted["job_id"], cancel=True, wait_s=0)
        until(lambda: "run_job" not in processes_of(process), timeout_s=20)
        assert time.monotonic() - began < 20, "the kernel itself never ends"


async def test_a_profile_that_has_begun_on_a_worker_is_finished_after_sigterm(team: Team) -> None:
    with team.serve() as server, team.worker() as process:
        until(lambda: team.times_connected() == 1)
        asked = {"problem": "vector_add", "source": KERNEL, "target": "big:gfx942", "wait_s": 0}
        accepted = await call(server, "profile_kernel", **asked)
        until(lambda: state(server)["jobs"])
        until(lambda: processes_of(process))  # its first run
        process.terminate()
        until(lambda: state(server)["state"] == "draining")
        found = await call(server, "get_job", job_id=accepted["job_id"], wait_s=200)
        assert found["status"] == "done", found
        assert process.wait(60) == 0


async def test_a_job_whose_worker_was_killed_says_that_it_waits(team: Team) -> None:
    with team.serve() as server, team.worker() as process:
        until(lambda: team.times_connected() == 1)
        accepted = await check(server, HANGING, wait_s=0)
        until(lambda: "run_job" in processes_of(process))
        process.kill()
        until(lambda: state(server)["state"] == "unreachable", timeout_s=20)
        until(lambda: "s for the worker of big" in str(state(server)["jobs"]), timeout_s=20)
        assert "left" in str(state(server)["note"])
        await call(server, "get_job", job_id=accepted["job_id"], cancel=True, wait_s=10)


async def test_a_job_whose_worker_is_away_for_long_is_handed_back_and_done_once_it_returns(team: Team) -> None:
    with team.serve() as server:
        with team.worker() as process:
            until(lambda: team.times_connected() == 1)
            asked = {"problem": "vector_add", "source": KERNEL, "target": "big:gfx942", "wait_s": 0}
            accepted = await call(server, "profile_kernel", **asked)
            until(lambda: processes_of(process))
            process.kill()
        job_id = accepted["job_id"]
        while (found := await call(server, "get_job", job_id=job_id, wait_s=0))["status"] == "running":
            await anyio.sleep(1)
        assert found["status"] == "queued", found
        assert found["progress"] == "the worker of big was lost while this ran: waiting up to 30 min for it"
        late = {"problem": "vector_add", "source": KERNEL, "target": "big:gfx942", "wait_s": 100}
        with pytest.raises(ToolError, match="the worker of big is not connected"):
            await call(server, "check_kernel", **late)
        with team.worker():
            found = await call(server, "get_job", job_id=job_id, wait_s=200)
            assert found["status"] == "done", found


async def test_the_doctor_shows_workers_and_a_misspelt_host_is_answered_at_once(team: Team) -> None:
    with team.serve() as server:
        assert "none is connected" in doctor(team)["workers"]["found"]
        with team.worker():
            until(lambda: team.times_connected() == 1)
            assert (await check(server))["verdict"] == "correct"
            shown = doctor(team)["worker big"]
            assert (shown["status"], shown["found"].startswith("connected for ")) == ("ok", True), shown
        until(lambda: doctor(team)["worker big"]["found"].startswith("left "))
    with team.serve() as second:
        asked = {"problem": "vector_add", "source": KERNEL, "wait_s": 10}  # the host could come for a minute
        with pytest.raises(ToolError, match="there is no target 'bgi:0'; did you mean big:0"):
            await call(second, "check_kernel", target="bgi:0", **asked)
        accepted = await call(second, "check_kernel", target="big:gfx942", **asked | {"wait_s": 0})
        with team.worker():
            found = await call(second, "get_job", job_id=accepted["job_id"], wait_s=150)
            assert found["check"]["verdict"] == "correct"


def doctor(team: Team) -> dict[str, dict[str, Any]]:
    own = os.environ | {"AMDKERNEL_DATA_DIR": str(team.folder / "data")}
    ended = subprocess.run([AMDKERNEL, "doctor", "--json"], env=own, capture_output=True, text=True, check=False)
    return {each["name"]: each for each in json.loads(ended.stdout)["checks"]}


def state(server: HttpServer) -> dict[str, Any]:
    """Of the worker's target, as the page and `top` show it."""
    page = server.url.removesuffix("/mcp") + "/status.json"
    answer = httpx.get(page, headers={"authorization": f"Bearer {ANN}"}, timeout=AT_MOST_S).json()
    return next(each for each in answer["targets"] if each["name"] == "big:gfx942")


def processes_of(worker: subprocess.Popen[bytes]) -> str:
    started = Path(f"/proc/{worker.pid}/stat").read_text().rpartition(")")[2].split()[19]
    label = f"label=amdkernel.process={worker.pid}:{started}"
    found = subprocess.check_output(["docker", "ps", "-q", "--filter", label], text=True).split()
    tops = [subprocess.run(["docker", "top", each], capture_output=True, text=True, check=False) for each in found]
    return "".join(each.stdout for each in tops)


async def test_users_see_hosts_come_and_go_and_the_audit_log_has_them(team: Team) -> None:
    with team.serve() as server:
        with team.worker():
            until(lambda: team.times_connected() == 1)
            assert (await targets(server))["big:gfx942"]["ready"]
        gone = (await targets(server))["big:gfx942"]
        assert not gone["ready"]
        assert gone["note"].startswith("the worker of big left")
        shown = team.command("targets", "--url", server.url, AMDK_TOKEN=ANN)
        assert "✗  big:gfx942" in shown
        assert "✗ the worker of big left" in shown
        with team.worker("small"):
            until(lambda: team.times_connected("small") == 1)
            assert {"big:gfx942", "small:gfx942"} <= {*(await targets(server))}
        await no_revoked_token_keeps_a_worker(team, server)
        page = httpx.get(server.url.removesuffix("/mcp") + "/status.json", headers={"authorization": f"Bearer {ANN}"})
        states = {each["name"]: each["state"] for each in page.json()["targets"]}
        assert states["big:gfx942"] == "unreachable"
    lines = json.loads(team.command("admin", "audit", "--json"))["lines"]
    noted = [(line["user"], line["action"]) for line in lines if line["action"].startswith("worker ")]
    assert ("*", "worker big connected") in noted
    assert ("*", "worker big left") in noted


async def no_revoked_token_keeps_a_worker(team: Team, server: HttpServer) -> None:
    with team.worker("third"):
        until(lambda: team.times_connected("third") == 1)
        listed = json.loads(team.command("admin", "tokens", "list", "--json"))["tokens"]
        team.command("admin", "tokens", "revoke", listed[0]["id"])
        log = team.folder / "third.log"
        until(lambda: "refuses this worker: a known token is needed; trying again" in log.read_text())
    assert not (await targets(server))["third:gfx942"]["ready"]


async def targets(server: HttpServer) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in (await call(server, "list_targets"))["targets"]}


async def test_the_token_of_a_worker_opens_nothing_else(team: Team) -> None:
    with team.serve() as server:
        async with Client(server.url, auth=BearerAuth(team.token)) as client:
            for tool, arguments in (("list_targets", {}), ("compile_kernel", {"source": KERNEL})):
                refused = await client.call_tool(tool, arguments, raise_on_error=False)
                assert refused.is_error
                assert "your token has worker" in refused.content[0].text
        page = server.url.removesuffix("/mcp") + "/status.json"
        assert httpx.get(page, headers={"authorization": f"Bearer {team.token}"}).status_code in (401, 403)


def test_a_worker_says_why_it_cannot_work(team: Team) -> None:
    def said(*options: str, token: str = ANN) -> tuple[int, str]:
        own = os.environ | {"AMDK_TOKEN": token}
        command = [AMDKERNEL, "worker", *options]
        ended = subprocess.run(command, env=own, capture_output=True, text=True, timeout=AT_MOST_S, check=False)
        return ended.returncode, ended.stderr

    with team.serve():
        url = ("--url", f"http://127.0.0.1:{team.port}")
        assert said(*url, "--emulator") == (
            2,
            f"amdkernel: {url[1]} refuses the token: a worker needs a token with the scope `worker` and no other\n"
            "  `amdkernel admin tokens add NAME --scope worker` on the server makes one for a worker\n",
        )
        code, text = said(*url, "--emulator", token="token-that-is-not-known")
        assert (code, "refuses the token: a known token is needed" in text) == (2, True)
        code, text = said(*url, token=team.token)
        assert (code, "lists no AMD GPU" in text) == (3, True)
        code, text = said(*url, "--emulator", "--gpu", "7", token=team.token)
        assert (code, "this machine has no GPU 7" in text) == (3, True)
    code, text = said("--url", "nonsense", "--emulator")
    assert (code, text) == (2, "amdkernel: nonsense is not a URL such as https://server.example.com:8080\n")
