"""Exports that were made to harm those who verify or replay them: each is an error that says why."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.errors import HistoryError, InputError
from amdkernel_mcp.history.attempt import Attempt, ProblemUsed, new_id, now
from amdkernel_mcp.history.attempts import verify
from amdkernel_mcp.history.export import write_export
from amdkernel_mcp.history.history import History
from amdkernel_mcp.problems.problem_file import load_problem
from tests.history.test_elsewhere import with_python_alone

PROBLEM = load_problem("vector_add")


@pytest.fixture
def exported(file_settings: Settings, tmp_path: Path) -> Callable[..., Path]:
    """Writes the export of an attempt with these parts, signed as every export is."""

    def made(**parts: Any) -> Path:
        history = History(file_settings)
        keep = history.artefacts.keep
        files = {"problem.toml": keep(PROBLEM.declaration.encode()), "reference.py": keep(PROBLEM.reference.encode())}
        name = parts.pop("problem_name", "vector_add")
        given: dict[str, Any] = {
            "verb": "check", "by": "local", "parent": None, "version": "0", "file_name": "k.hip",
            "source": keep(parts.pop("text", b"// k")), "baseline": None, "target": None, "options": {},
            "verdict": "correct", "answer": {}, "problem": ProblemUsed(name=name, files=parts.pop("files", files)),
        }  # fmt: skip
        attempt = Attempt(id=new_id(), created=now(), **given | parts)
        history.add(attempt)
        write_export(history.find(attempt.id), history.artefacts, tmp_path / "export")
        history.close()
        return tmp_path / "export"

    return made


HOSTILE: dict[str, dict[str, Any]] = {
    "a problem outside its folder": {"problem_name": "../../escape"},
    "a problem with a NUL": {"problem_name": "a\0b"},
    "a problem with a long name": {"problem_name": "a" * 5000},
    "a problem without files": {"files": {}},
    "options that do not exist": {"options": {"remove": "everything"}},
    "options of another type": {"options": {"seeds": ["x"], "schedules": {}}},
    "flags that are a number": {"verb": "compile", "problem": None, "options": {"flags": 5}},
    "an arch that is a list": {"verb": "compile", "problem": None, "options": {"arch": ["gfx942"]}},
    "a kernel that is not text": {"text": b"\xff\xfe"},
    "a target that does not exist": {"target": "local:99"},
    "a seed key that is a number": {"answer": {"seeds": {"key": 5}}},
}


@pytest.mark.sandbox
@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_replay_refuses_what_no_attempt_of_ours_holds(
    exported: Callable[..., Path], tmp_path: Path, file_settings: Settings, name: str
) -> None:
    engine = Engine(file_settings.model_copy(update={"data_dir": tmp_path / "elsewhere"}))
    try:
        with pytest.raises(InputError):
            engine.attempts.replay(str(exported(**HOSTILE[name])))
    finally:
        engine.close()
    assert not (tmp_path / "escape").exists()


@pytest.mark.parametrize("name", ["attempt.json", "attempt.sig", "public_key.pem", "README.txt"])
def test_a_pipe_in_place_of_a_file_is_not_waited_for(exported: Callable[..., Path], name: str) -> None:
    folder = exported()
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(HistoryError, match="is not a file"):
        verify(folder)
    assert with_python_alone(folder).returncode == (0 if name == "README.txt" else 1)


def test_a_folder_that_is_none_is_reported(tmp_path: Path) -> None:
    for folder in (tmp_path / "missing", tmp_path):
        with pytest.raises(HistoryError, match=r"attempt\.json"):
            verify(folder)
