"""The real clients and an installation of ours that they start, quick or slow."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from amdkernel_mcp.search.index.build import build_index

pytest.register_assert_rewrite("tests.clients.agent_loop")

ROOT = Path(__file__).resolve().parents[2]
# Where a client gives a server little time: the process that answers first starts late, the server behind it later.
RELAY_S, SERVER_S = 1.5, 6.0
SLOW = f"""import sys, time
if "--no-relay" in sys.orig_argv:
    time.sleep({SERVER_S})
elif sys.orig_argv[-1].endswith("/amdkernel-mcp"):
    time.sleep({RELAY_S})
"""


@pytest.fixture(scope="session")
def programs() -> Path:
    """The folder with `claude`, `codex`, `gemini`, `opencode` and a Node that runs them."""
    done = subprocess.run([ROOT / "scripts" / "install_clients.sh"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the clients cannot be installed: {done.stderr.strip()[-300:]}")
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def quick_start() -> Path:
    """The folder with our commands."""
    return Path(sys.executable).parent


@pytest.fixture(scope="session")
def slow_start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with our commands, in an environment of the same packages where the server starts late."""
    folder = tmp_path_factory.mktemp("slow")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    ours = Path(pytest.__file__).parent.parent
    (packages / "ours.pth").write_text(f"import site; site.addsitedir({str(ours)!r})\n")
    (packages / "sitecustomize.py").write_text(SLOW)
    for name in ("amdkernel", "amdkernel-mcp"):
        script = folder / "bin" / name
        _, _, rest = Path(sys.executable).with_name(name).read_text().partition("\n")
        script.write_text(f"#!{folder}/bin/python\n{rest}")
        script.chmod(0o755)
    return folder / "bin"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's home that has our documentation index and nothing else."""
    data = tmp_path / "home" / ".local" / "share" / "amdkernel"
    data.mkdir(parents=True)
    build_index([ROOT / "tests" / "search" / "sample_corpus"], data / "docs.sqlite3")
    return tmp_path / "home"


@pytest.fixture
def environment(home: Path, programs: Path) -> dict[str, str]:
    """What a new user's shell has, with the clients on the path; nothing outside this machine can be reached."""
    kept = {name: os.environ[name] for name in ("LANG", "TERM", "DOCKER_HOST") if name in os.environ}
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    nobody = {
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1,localhost",
    }
    return kept | nobody | {"HOME": str(home), "PATH": path, "NO_COLOR": "1"}
