"""CI takes a part of the files of thorough tests each day, and gives a time after which none begins; both are said."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILE = "tests/test_quoting.py"  # has tests of both kinds, all of them quick
THOROUGH = f"{FILE}::test_a_card_that_is_made_of_a_hostile_page_is_harmless"


def left_out(cache: Path, *, until: str = "99999999999", turn: str = "0/1") -> tuple[str, list[str]]:
    """What a run prints, and the tests that it had no time for."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-o", f"cache_dir={cache}", FILE]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    kept |= {"AMDK_THOROUGH_UNTIL": until, "AMDK_THOROUGH_TURN": turn}
    done = subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    file = cache / "v" / "not_reached"
    return done.stdout, json.loads(file.read_text()) if file.exists() else []


@pytest.mark.thorough
def test_after_the_time_the_thorough_tests_alone_are_left_out_and_named(tmp_path: Path) -> None:
    said, missing = left_out(tmp_path, until="1")
    assert missing == [THOROUGH]
    assert f"1  {FILE}" in said
    assert " passed, 1 skipped" in said


@pytest.mark.thorough
def test_before_it_nothing_is_left_out(tmp_path: Path) -> None:
    said, missing = left_out(tmp_path)
    assert missing == []
    assert "skipped" not in said


@pytest.mark.thorough
def test_each_file_has_its_turn_in_one_of_the_parts(tmp_path: Path) -> None:
    parts = [left_out(tmp_path, turn=f"{number}/3") for number in range(3)]
    assert [missing for _, missing in parts] == [[], [], []], "another day's test is not one that was not reached"
    assert sorted("1 deselected" in said for said, _ in parts) == [False, True, True]
