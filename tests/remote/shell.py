"""The command line as a user starts it at a team's server: `amdkernel WORDS --url URL`."""

import os
import subprocess
import sys
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import Any

from amdkernel_mcp.remote.calls import Server
from tests.server.http_server import ANN, HttpServer
from tests.waiting import AT_MOST_S, wait_until

COMMAND = str(Path(sys.executable).with_name("amdkernel"))


def start(url: str, *words: object, token: str | None = ANN, **environment: str) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if name != "AMDK_TOKEN"}
    kept |= environment | ({"AMDK_TOKEN": token} if token is not None else {})
    return subprocess.Popen(
        [COMMAND, *map(str, words), "--url", url],
        env=kept,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def amdkernel(url: str, *words: object, token: str | None = ANN, **environment: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    process = start(url, *words, token=token, **environment)
    out, err = process.communicate(timeout=AT_MOST_S)
    assert "Traceback" not in err, err
    assert "was destroyed" not in err, err
    return process.returncode, out, err


def jobs(url: str) -> list[dict[str, Any]]:
    """Those of ann, asked without a process: each takes a second of a busy machine, and tests ask again and again."""
    with closing(Server(url, lambda: ANN)) as server:
        listed: list[dict[str, Any]] = server.call("list_jobs", {})["jobs"]
    return listed


def wait_for_job(gated: HttpServer, status: str, *, besides: Collection[str]) -> str:
    """The id of a job besides those given, once it has this status and the command that began it waits for it."""

    def found() -> list[str]:
        listed = {str(each["job_id"]) for each in jobs(gated.url) if each["status"] == status}
        return [job for job in listed.difference(besides) if (gated.data / f"asked-{job}").exists()]

    return wait_until(found, f"a job is {status}")[0]


def ids(url: str) -> set[str]:
    """Those of all jobs."""
    return {each["job_id"] for each in jobs(url)}


def end_all_jobs(gated: HttpServer) -> None:
    """Let all jobs of ann end at a server of `gated_server.py`, then close the gate for those to come."""
    gate = gated.data / "gate"
    gate.touch()
    wait_until(lambda: all(each["status"] not in ("queued", "running") for each in jobs(gated.url)), "no job is left")
    gate.unlink()
