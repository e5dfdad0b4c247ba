"""The command line as a user starts it at a team's server: `amdkernel WORDS --url URL`."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tests.server.http_server import ANN

COMMAND = str(Path(sys.executable).with_name("amdkernel"))
LONGEST_S = 120


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
    out, err = process.communicate(timeout=LONGEST_S * 3)
    assert "Traceback" not in err, err
    assert "was destroyed" not in err, err
    return process.returncode, out, err


def jobs(url: str) -> list[dict[str, Any]]:
    code, out, err = amdkernel(url, "jobs", "--json")
    assert code == 0, err
    listed: list[dict[str, Any]] = json.loads(out)["jobs"]
    return listed


def wait_for_job(url: str, status: str, *, besides: Collection[str]) -> str:
    """The id of the job that is none of `besides`, once it has this status."""
    until = time.monotonic() + LONGEST_S
    while time.monotonic() < until:
        found = [each for each in jobs(url) if each["job_id"] not in besides]
        if found and found[0]["status"] == status:
            return str(found[0]["job_id"])
        time.sleep(0.2)
    raise AssertionError(f"no job is {status}: {found}")


def ids(url: str) -> set[str]:
    """Those of all jobs."""
    return {each["job_id"] for each in jobs(url)}
