"""The tests that failed among others and passed alone, on this machine: the next change must deal with them.

    unstable_tests.py LIST add TEST ...    notes the tests with the commit that showed it
    unstable_tests.py LIST check           fails while a listed test is as it was; drops those that were dealt with

A test is dealt with when its file has changed or is gone, or when a later commit names the test in its message, because
the cause was elsewhere.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def dealt_with(test: str, commit: str) -> bool:
    """Whether what lies between the commit and HEAD changes the test's file or names the test."""
    file, _, name = test.partition("::")
    name = name.rpartition("::")[2].partition("[")[0]
    if not _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        return False  # another history: nothing shows that it was looked at
    changed = _git("rev-parse", f"{commit}:{file}") != _git("rev-parse", f"HEAD:{file}")
    return changed or bool(name and _git("log", "--format=%h", "--fixed-strings", f"--grep={name}", f"{commit}..HEAD"))


def main() -> int:
    """Add to the list, or check it; exits with 1 when a test was not dealt with."""
    listed, action, *tests = Path(sys.argv[1]), *sys.argv[2:]
    head = _git("rev-parse", "HEAD")
    lines = listed.read_text(encoding="utf-8").splitlines() if listed.exists() else []
    entries = dict(line.split("\t") for line in lines)
    if action == "add":
        entries |= dict.fromkeys(tests, head)
        open_tests: list[str] = []
    else:
        entries = {test: commit for test, commit in entries.items() if not dealt_with(test, commit)}
        open_tests = [test for test, commit in entries.items() if commit != head]
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text("".join(f"{test}\t{commit}\n" for test, commit in entries.items()), encoding="utf-8")
    for test in open_tests:
        print(f"{test} passed only when it ran again at {entries[test][:12]}: make it certain, or delete it")
    return 1 if open_tests else 0


if __name__ == "__main__":
    sys.exit(main())
