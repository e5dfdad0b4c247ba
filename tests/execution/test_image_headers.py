"""Programs that need headers of HIP 7 and of its header-only libraries build and run with what the image has."""

import subprocess
import sys
from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.hip"))

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(400)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_a_program_builds_and_runs_with_the_headers_of_the_image(sandbox: Sandbox, program: Path) -> None:
    assert sandbox.isolation == "docker", "the image is up to date"
    command = [str(Path(sys.executable).parent / "amdkernel"), "run", str(program)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (ended.returncode, ended.stdout) == (0, "PASS\n"), ended.stdout + ended.stderr
