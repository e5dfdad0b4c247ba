"""A test that passed only when it ran again stops the next change until it is dealt with."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/unstable_tests.py"
TEST = "tests/test_a.py::test_that_waits[2]"


class Checkout:
    def __init__(self, folder: Path) -> None:
        self.folder, self.listed = folder, folder.parent / "unstable"
        for name in ("scripts", "tests"):
            (folder / name).mkdir(parents=True)
        shutil.copy(SCRIPT, folder / "scripts")
        self.run("git", "init", "--quiet", "--initial-branch=main")
        self.commit("tests/test_a.py", "wait(2)", "Begin")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True)

    def commit(self, file: str, text: str, message: str) -> None:
        (self.folder / file).write_text(text)
        self.run("git", "add", ".")
        identity = ["-c", "user.name=a", "-c", "user.email=a@example"]
        done = self.run("git", *identity, "commit", "--quiet", "--message", message)
        assert done.returncode == 0, done.stderr

    def unstable(self, *arguments: str) -> tuple[int, str]:
        done = self.run(sys.executable, "scripts/unstable_tests.py", str(self.listed), *arguments)
        assert not done.stderr
        return done.returncode, done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path / "checkout")
    assert made.unstable("add", TEST) == (0, "")
    return made


def test_the_commit_that_showed_it_passes(checkout: Checkout) -> None:
    assert checkout.unstable("check") == (0, "")


def test_another_change_is_stopped_with_the_name_of_the_test(checkout: Checkout) -> None:
    checkout.commit("page.md", "text", "Write a page")
    code, said = checkout.unstable("check")
    assert code == 1
    assert TEST in said


def test_a_change_of_its_file_deals_with_it_for_good(checkout: Checkout) -> None:
    checkout.commit("tests/test_a.py", "wait_for(event)", "Wait for the event")
    assert checkout.unstable("check") == (0, "")
    checkout.commit("page.md", "text", "Write a page")
    assert checkout.unstable("check") == (0, "")


def test_a_commit_that_names_the_test_deals_with_it(checkout: Checkout) -> None:
    checkout.commit("queue.c", "fixed", "Wake the queue\n\ntest_that_waits waited for it.")
    assert checkout.unstable("check") == (0, "")


def test_an_entry_of_an_unknown_history_stays(checkout: Checkout) -> None:
    checkout.listed.write_text(f"{TEST}\t{'0' * 40}\n")
    code, said = checkout.unstable("check")
    assert code == 1
    assert TEST in said
