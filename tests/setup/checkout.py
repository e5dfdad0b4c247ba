"""This working tree as a repository of one commit, for tests that begin with `git clone`."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def bundle_of_this_tree(folder: Path) -> Path:
    """A file that `git clone` takes; what git ignores is not in it. Nothing is written into this checkout."""
    repository = ["git", f"--git-dir={folder / 'git'}", f"--work-tree={ROOT}"]
    author = ["-c", "user.name=test", "-c", "user.email=test@example.invalid"]
    bundle = folder / "checkout.bundle"
    _run([*repository, "init", "--quiet", "--initial-branch=main"])
    _run([*repository, "add", "--all"])
    _run([*repository, *author, "commit", "--quiet", "--message=All"])
    _run([*repository, "bundle", "create", "--quiet", str(bundle), "main", "HEAD"])
    return bundle


def clone_of_this_tree(folder: Path) -> Path:
    """A clone of it in `folder`."""
    _run(["git", "clone", "--quiet", str(bundle_of_this_tree(folder)), str(folder / "checkout")])
    return folder / "checkout"


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
