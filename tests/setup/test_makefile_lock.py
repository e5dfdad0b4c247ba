"""The Makefile's environment is the lock of now, whatever was installed before; with a project of three packages."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.setup.packages import installed
from tests.setup.wheels import make_wheel

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.thorough
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
[project]
name = "own"
version = "1"
"""
BACKEND = """
from pathlib import Path
from wheels import make_wheel

def build_editable(folder, config_settings=None, metadata_directory=None):
    make_wheel(Path(folder), "own", "1")
    return "own-1-py3-none-any.whl"
"""


class Project:
    """A checkout with our Makefile, and a folder as its package index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "checkout"
        self.index = folder / "index"
        self.index.mkdir()
        (self.folder / "requirements").mkdir(parents=True)
        shutil.copy(ROOT / "Makefile", self.folder)
        shutil.copy(Path(__file__).with_name("wheels.py"), self.folder)
        (self.folder / "pyproject.toml").write_text(PROJECT)
        (self.folder / "backend.py").write_text(BACKEND)
        self.lock("build")

    def package(self, name: str, version: str, *requires: str) -> str:
        return make_wheel(self.index, name, version, *requires)

    def lock(self, name: str, *lines: str) -> None:
        """A new lock; like any change of a file it is newer than what was installed."""
        (self.folder / "requirements" / f"{name}.txt").write_text("\n".join([*lines, ""]))

    def make(self, target: str) -> subprocess.CompletedProcess[str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "MAKE"))}
        pip = {"PIP_CONFIG_FILE": "/dev/null", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.index)}
        return subprocess.run(
            ["make", f"PYTHON={sys.executable}", target],
            cwd=self.folder, env=own | pip, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def installed(self) -> dict[str, str]:
        return installed(str(self.folder / ".venv" / "bin" / "python"), except_for=("own",))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_what_an_older_lock_had_is_gone(project: Project) -> None:
    alpha, beta, gamma = (project.package(name, "1.0") for name in ("alpha", "beta", "gamma"))
    newer = project.package("alpha", "2.0")
    project.lock("product", alpha)
    project.lock("dev", alpha, beta, gamma)
    done = project.make(".venv/.installed-dev")
    assert done.returncode == 0, done.stderr
    assert project.installed() == {"alpha": "1.0", "beta": "1.0", "gamma": "1.0"}, "the newest alpha is not locked"

    project.lock("dev", alpha, beta)
    assert project.make(".venv/.installed-dev").returncode == 0
    assert project.installed() == {"alpha": "1.0", "beta": "1.0"}

    project.lock("product", newer)
    project.lock("dev", newer)
    assert project.make(".venv/.installed").returncode == 0
    assert project.installed() == {"alpha": "2.0"}
    assert project.make(".venv/.installed-dev").returncode == 0
    assert project.installed() == {"alpha": "2.0"}
    again = project.make(".venv/.installed-dev")
    assert again.stdout == "make: '.venv/.installed-dev' is up to date.\n", "nothing changed, and it installs"


def test_a_lock_that_lacks_a_package_is_no_environment(project: Project) -> None:
    project.package("alpha", "1.0")
    project.lock("product", project.package("beta", "1.0", "alpha>=1"))
    done = project.make(".venv/.installed")
    assert done.returncode != 0, "beta was installed without alpha"
    assert "beta 1.0 requires alpha, which is not installed." in done.stdout + done.stderr
    assert project.make(".venv/.installed").returncode != 0, "the second run takes it for installed"
