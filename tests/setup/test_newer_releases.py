"""A release of tomorrow changes nothing: what is installed is the lock, for the product and for its developers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.check_lock import read_lock
from tests.setup.checkout import clone_of_this_tree
from tests.setup.packages import installed, locked
from tests.setup.wheels import make_wheel

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements" / "dev.txt"
pytestmark = [pytest.mark.thorough, pytest.mark.slow, pytest.mark.soak, pytest.mark.timeout(1200)]


@pytest.fixture
def newer_releases(tmp_path: Path) -> Path:
    """A folder that pip takes for a package index, with a newer version of every locked package."""
    index = tmp_path / "index"
    index.mkdir()
    for name in sorted({entry.name for entry in read_lock(LOCK)}):
        make_wheel(index, name, "99999.0")
    return index


def test_newer_releases_of_everything_change_nothing(newer_releases: Path, tmp_path: Path) -> None:
    checkout = clone_of_this_tree(tmp_path)
    links = f"{newer_releases} {os.environ.get('PIP_FIND_LINKS', '')}".strip()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    sees_them = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--no-index", "--dest", tmp_path, "pydantic"],
        env=environment | {"PIP_FIND_LINKS": links}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert sees_them.returncode == 0, sees_them.stderr
    assert (tmp_path / "pydantic-99999.0-py3-none-any.whl").exists(), "pip does not see the newer releases"

    made = subprocess.run(
        ["make", f"PYTHON={sys.executable}", ".venv/.installed-dev"],
        cwd=checkout, env=environment | {"PIP_FIND_LINKS": links}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    python = str(checkout / ".venv" / "bin" / "python")
    assert installed(python, except_for=("amdkernel-mcp",)) == locked(LOCK, python)
