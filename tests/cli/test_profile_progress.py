"""A profile of minutes says what it does at each step, also without a terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from amdkernel_mcp import bundled
from amdkernel_mcp.execution.sandbox import Sandbox

COMMAND = str(Path(sys.executable).with_name("amdkernel"))


@pytest.mark.sandbox
@pytest.mark.thorough
def test_each_step_of_both_kernels_is_a_line_on_stderr(sandbox: Sandbox, tmp_path: Path) -> None:
    assert sandbox
    kernels = bundled.folder("examples") / "vector_add/kernels"
    # A cache of its own: what another test measured is not measured again, and has no steps.
    folders = {"AMDKERNEL_DATA_DIR": str(tmp_path / "data"), "AMDKERNEL_CACHE_DIR": str(tmp_path / "cache")}
    files = [str(kernels / "better.hip"), "--compare-to", str(kernels / "naive.hip")]
    command = [COMMAND, "profile", "vector_add", *files]
    ended = subprocess.run(command, env=os.environ | folders, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    lines = iter(ended.stderr.splitlines())
    steps = (
        "compiling for",
        "measuring ",
        "case 1 of 1: ok",
        "reading",
        "comparing the outputs",
        "explaining the counts",
    )
    for step in (*steps, *(f"naive.hip, to compare: {each}" for each in steps)):
        assert any(line.startswith(step) for line in lines), f"{step} is missing or too late in\n{ended.stderr}"
    assert "time of all kernels" in ended.stdout
