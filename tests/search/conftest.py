"""Indexes to test with: of a small corpus of our own, and of the documentation archive next to the checkout."""

import fcntl
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.search.index.build import build_index
from amdkernel_mcp.search.index.index import Index, open_index

CORPUS = Path(__file__).parent / "sample_corpus"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def archive() -> Path:
    """The archive of real documentation, which is not in the repository."""
    path = SHARED / "rocm-docs.tar.zst"
    if not path.is_file():
        pytest.skip(f"{path} is not there: the documentation archive is kept next to the checkout, never in it")
    return path


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The index of our own small corpus."""
    path = tmp_path_factory.mktemp("docs") / "index.sqlite3"
    build_index([CORPUS], path)
    with open_index(path) as opened:
        yield opened


@pytest.fixture(scope="session")
def rocm_index(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The index of the archive; built once for all workers and again when the code that builds it changes."""
    with open_index(_built(archive, tmp_path_factory)) as opened:
        yield opened


def _built(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    digest = hashlib.sha256()
    package = Path(build_index.__code__.co_filename).parents[1]
    for path in [archive, *sorted(package.rglob("*.py")), *sorted(folder("docs_index").rglob("*.t[os][mv]*"))]:
        digest.update(path.read_bytes())
    # The parent of this run's folder is the user's own and outlives the run.
    shared = tmp_path_factory.getbasetemp().parent
    shared = shared.parent if shared.name.startswith("pytest-") and shared.name[7:].isdigit() else shared
    path = shared / f"rocm-docs-{digest.hexdigest()[:16]}.sqlite3"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.is_file():
            for old in shared.glob("rocm-docs-*.sqlite3"):
                old.unlink()
            build_index([archive], path)
    return path
