"""Which problems and candidates a folder has."""

from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder as bundled_folder
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.evaluation.suite import Suite, read_suite
from tests.languages.triton_kernels import VECTOR_ADD

KNOWN = bundled_folder("examples")


def read(folder: Path, *files: str) -> Suite:
    for name in files:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    return read_suite(folder, KNOWN)


def test_a_folder_of_a_known_problem_needs_only_kernels(tmp_path: Path) -> None:
    (task,) = read(tmp_path, "vector_add/mine.hip", "vector_add/kernels/other.hip").tasks
    assert task.problem == "vector_add"
    assert task.baseline == KNOWN / "vector_add" / "kernels" / "naive.hip"
    assert [file.name for file in task.candidates] == ["mine.hip", "other.hip"]


def test_a_folder_with_a_problem_is_its_own(tmp_path: Path) -> None:
    (task,) = read(tmp_path, "mine/problem.toml", "mine/naive.hip", "mine/fast.hip").tasks
    assert task.problem == str(tmp_path / "mine")
    assert (task.baseline.name, [file.name for file in task.candidates]) == ("naive.hip", ["fast.hip"])


def test_a_baseline_of_the_suite_goes_before_the_naive_kernel(tmp_path: Path) -> None:
    (task,) = read(tmp_path, "vector_add/baseline.hip", "vector_add/naive.hip", "vector_add/fast.hip").tasks
    assert task.baseline == tmp_path / "vector_add" / "baseline.hip"
    assert [file.name for file in task.candidates] == ["fast.hip"]


def test_kernels_of_other_languages_are_candidates_and_other_python_is_not(tmp_path: Path) -> None:
    (tmp_path / "vector_add").mkdir()
    for name, text in (("add.py", VECTOR_ADD), ("naive.py", VECTOR_ADD), ("reference.py", "import numpy\n")):
        (tmp_path / "vector_add" / name).write_text(text)
    (task,) = read(tmp_path, "vector_add/add.s", "vector_add/add.co").tasks
    assert task.baseline == tmp_path / "vector_add" / "naive.py"
    assert [file.name for file in task.candidates] == ["add.co", "add.py", "add.s"]


def test_what_is_not_judged_is_named_with_the_reason(tmp_path: Path) -> None:
    suite = read(tmp_path, "vector_add/a.hip", "vectr_add/a.hip", "own/problem.toml", "own/a.hip", ".git/config")
    assert [line.partition(":")[0] for line in suite.not_judged] == ["own", "vectr_add"]
    assert "naive.hip" in suite.not_judged[0]
    assert "no bundled problem has this name" in suite.not_judged[1]


@pytest.mark.parametrize("files", [(), ("notes.txt",), ("nosuch/a.hip",)])
def test_a_folder_without_problems_is_wrong_input(tmp_path: Path, files: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="there is no problem in this folder"):
        read(tmp_path, *files)


def test_a_folder_that_is_not_there_is_wrong_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        read(tmp_path / "nosuch")
