"""AMD's Python bindings come from their lock alone, which has all that they require; a failure says what failed."""

import sys
from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.hip_python import hip_python
from scripts.check_lock import ROOT, environments, holes, lines, read_lock

LOCK = folder("sandbox") / "image" / "hip-python.txt"
DECLARED = lines(ROOT / "requirements" / "image.in")


@pytest.fixture(scope="module")
def wheels() -> Path:
    """The folder that `amdkernel setup` keeps them in, filled where it is empty."""
    kept = load_settings().cache_dir / "wheels"
    for python in ((3, 11), (3, 12)):
        assert "hip/__init__.py" in hip_python(kept, python, print), "the bindings are not among the files"
    return kept


@pytest.mark.thorough
@pytest.mark.parametrize("tag", ["cp311", "cp312"])
def test_the_lock_has_whatever_the_wheels_require(wheels: Path, tag: str) -> None:
    path = [str(wheel) for wheel in (wheels / tag).glob("*.whl")]
    entries = read_lock(LOCK)
    found = {hole for environment in environments() for hole in holes(entries, DECLARED, environment, path)}
    assert found == set()


@pytest.mark.thorough
def test_a_binding_that_the_lock_lacks_is_named(wheels: Path) -> None:
    path = [str(wheel) for wheel in (wheels / "cp312").glob("*.whl")]
    entries = [entry for entry in read_lock(LOCK) if entry.name != "rocm-bindings-core"]
    found = {hole for environment in environments() for hole in holes(entries, DECLARED, environment, path)}
    assert any(hole.startswith("hip-python ") and "requires rocm-bindings-core" in hole for hole in found), found


def test_a_failure_says_what_failed_and_not_what_each_index_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexes = [str(tmp_path / f"index-{number}") for number in range(40)]
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", " ".join(indexes))
    with pytest.raises(ToolchainError) as failed:
        hip_python(tmp_path / "wheels", sys.version_info[:2], print)
    assert "No matching distribution found for hip-python==" in failed.value.message
    assert "index-" not in failed.value.message, "the warnings hide the error"
