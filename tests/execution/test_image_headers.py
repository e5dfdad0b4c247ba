"""Programs that need headers of HIP 7 and of its header-only libraries build and run with what the image has."""

from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.cli.run_command import amdkernel_run

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.hip"))
IN_GATE = {"hipcub_block_sum", "warp_sync"}  # hipCUB's header includes rocPRIM's
CASES = [
    pytest.param(program, id=program.stem, marks=() if program.stem in IN_GATE else pytest.mark.thorough)
    for program in PROGRAMS
]

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(400)]


@pytest.mark.thorough
@pytest.mark.parametrize("program", CASES)
def test_a_program_builds_and_runs_with_the_headers_of_the_image(sandbox: Sandbox, program: Path) -> None:
    assert sandbox.isolation == "docker", "the image is up to date"
    ended = amdkernel_run(program)
    assert (ended.returncode, ended.stdout) == (0, "PASS\n"), ended.stdout + ended.stderr
