"""Runs a piece of Python where a folder is a small disk of its own, or read-only."""

import os
import subprocess
import sys
from pathlib import Path

from tests.waiting import AT_MOST_S

_START = """
import json, sys
from pathlib import Path
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.history.recorder import Recorder, Tried
from amdkernel_mcp.results.kernels import CheckResult

data = Path(sys.argv[1])
ANSWER = CheckResult(verdict="incorrect", reason="wrong", target="emulator:gfx942")
recorder = Recorder(load_settings({"data_dir": data, "cache_dir": data / "cache"}, {}))

def record(source="// kernel"):
    answer = recorder.record(Tried("check", source, "k.hip"), ANSWER)
    return [answer.verdict, answer.attempt, answer.not_recorded]

"""


def run_with(mount: str, folder: Path, script: str) -> str:
    """What the script prints. `mount`: a command that changes the folder `$1` for this script alone."""
    alone = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    shell = ["sh", "-ec", f'{mount}\nexec "$0" -c "$2" "$1"', sys.executable, str(folder), _START + script]
    ended = subprocess.run([*alone, *shell], capture_output=True, text=True, timeout=AT_MOST_S)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()
