"""The checker of links: which of them lead nowhere, and where they are."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts/check_links.py"


def check(page: Path, text: str) -> tuple[int, list[str]]:
    page.write_text(text)
    ended = subprocess.run([sys.executable, str(SCRIPT), str(page)], capture_output=True, text=True)
    assert ended.stderr == ""
    return ended.returncode, [line.removeprefix(f"{page}:") for line in ended.stdout.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "other.md").write_text("# Title\n\n## `run`: a *program*, twice\n\n## Again\n\n## Again\n")
    return tmp_path


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("[x](missing.md)", "missing.md: no such file"),
        ("[x](other.md#absent)", "other.md#absent: no such heading"),
        ("[x](#absent)", "#absent: no such heading"),
        ("![a picture](missing.svg)", "missing.svg: no such file"),
        ("[x](/other.md)", "/other.md: write it relative to the page"),
        ("[x]: missing.md", "missing.md: no such file"),
    ],
)
def test_a_link_that_leads_nowhere_is_reported_with_its_line(folder: Path, link: str, reason: str) -> None:
    assert check(folder / "page.md", f"# Here\n\n{link}\n") == (1, [f"3: {reason}"])


@pytest.mark.parametrize(
    "link",
    [
        "[x](other.md)",
        "[x](other.md#run-a-program-twice)",
        "[x](other.md#again-1)",
        "[x](#here)",
        "[x](https://example.com/missing.md)",
        "`[x](missing.md)`",
        "```\n[x](missing.md)\n```",
    ],
)
def test_a_link_that_works_another_host_and_code_are_left_alone(folder: Path, link: str) -> None:
    assert check(folder / "page.md", f"# Here\n\n{link}\n") == (0, [])


def test_links_of_all_pages_of_the_repository_work() -> None:
    ended = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True)
    assert ended.stdout == ""
