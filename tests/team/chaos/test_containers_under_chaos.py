"""Containers that are removed by hand, and servers that are killed while theirs work: no verdict comes of it."""

import random
import time
from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder as bundled_folder
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.execution.docker.daemon import Daemon, connect
from amdkernel_mcp.execution.docker.ownership import OWNER, PROCESS
from amdkernel_mcp.execution.sandbox import Sandbox
from tests.server.http_server import http_server
from tests.team.chaos.team_of_servers import Agent, token_of

pytestmark = [pytest.mark.thorough, pytest.mark.sandbox]

KERNEL = (bundled_folder("examples") / "vector_add" / "kernels" / "better.hip").read_text()
TOKENS = f"{token_of(0)} user0\n"
JOBS, REMOVED, GONE_WITHIN_S = 4, 3, 30.0


def containers_of(daemon: Daemon, process: int) -> list[str]:
    """The ids of all containers of this process, ended ones as well."""
    found = daemon.client.containers.list(all=True, filters={"label": OWNER}, ignore_removed=True)
    return [str(each.id) for each in found if each.labels.get(PROCESS, "").startswith(f"{process}:")]


def remove_some(daemon: Daemon, process: int, chance: random.Random) -> int:
    """Remove containers of the process at random moments, as `docker rm -f` does."""
    import docker.errors

    removed, until = 0, time.monotonic() + 60
    while removed < REMOVED and time.monotonic() < until:
        time.sleep(chance.uniform(0.2, 1.0))
        for name in containers_of(daemon, process)[:1]:
            try:
                daemon.client.containers.get(name).remove(force=True)
                removed += 1
            except docker.errors.APIError:
                continue  # it had just ended
    return removed


def test_checks_survive_removed_containers_and_their_killed_server_and_no_container_is_left(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    assert sandbox.isolation == "docker"
    daemon, agent = connect(load_settings().docker_host), Agent(0)
    with http_server(tmp_path, tokens=TOKENS) as first, http_server(tmp_path, tokens=TOKENS) as second:
        jobs = []
        for number in range(JOBS):
            asked = {"problem": "vector_add", "source": f"{KERNEL}\n// {number}\n", "wait_s": 0}
            jobs.append(agent.call(first, "check_kernel", **asked)["job_id"])
        assert remove_some(daemon, first.process.pid, random.Random(18)) == REMOVED
        first.process.kill()
        first.process.wait()
        killed_s = time.monotonic()
        while (left := containers_of(daemon, first.process.pid)) and time.monotonic() - killed_s < GONE_WITHIN_S:
            time.sleep(0.5)
        answers = [agent.call(second, "get_job", job_id=job, wait_s=8) for job in jobs]
        until = time.monotonic() + 200
        while any(each["status"] in ("queued", "running") for each in answers) and time.monotonic() < until:
            answers = [agent.call(second, "get_job", job_id=job, wait_s=8) for job in jobs]
    agent.close()
    daemon.close()
    assert not left, f"{GONE_WITHIN_S:.0f} s after its server was killed"
    found = [(each["status"], (each.get("check") or {}).get("verdict"), each.get("error")) for each in answers]
    twice = [(status, error) for status, verdict, error in found if (status, verdict) != ("done", "correct")]
    assert len(twice) <= REMOVED // 2, "a job is done again once, so only one whose container went twice may fail"
    assert all(status == "failed" and "the sandbox container vanished" in str(error) for status, error in twice), found
