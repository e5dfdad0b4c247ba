"""What `make` would run is shell that the shell can parse."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "target", ["setup", "demo", "dev", "test", "test-all", "soak", "lint", "site", "dist", "bench", "conformance"]
)
def test_the_commands_of_a_target_can_be_parsed(target: str) -> None:
    commands = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    parsed = subprocess.run(["sh", "-n"], input=commands, capture_output=True, text=True)
    assert parsed.returncode == 0, parsed.stderr
