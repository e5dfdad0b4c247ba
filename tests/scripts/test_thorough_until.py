"""CI gives a time after which no thorough test begins: those of `make test` still run, and the others are named."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = "tests/test_quoting.py"  # has tests of both kinds, all of them quick
THOROUGH = f"{FILE}::test_a_card_that_is_made_of_a_hostile_page_is_harmless"


def left_out(until: str, cache: Path) -> tuple[str, list[str]]:
    """What a run prints, and the tests that it had no time for."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-o", f"cache_dir={cache}", FILE]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        command, cwd=ROOT, env=kept | {"AMDK_THOROUGH_UNTIL": until}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout
    file = cache / "v" / "not_reached"
    return done.stdout, json.loads(file.read_text()) if file.exists() else []


@pytest.mark.thorough
def test_after_the_time_the_thorough_tests_alone_are_left_out_and_named(tmp_path: Path) -> None:
    said, missing = left_out("1", tmp_path)
    assert missing == [THOROUGH]
    assert f"1  {FILE}" in said
    assert " passed, 1 skipped" in said


@pytest.mark.thorough
def test_before_it_nothing_is_left_out(tmp_path: Path) -> None:
    said, missing = left_out("99999999999", tmp_path)
    assert missing == []
    assert "skipped" not in said
