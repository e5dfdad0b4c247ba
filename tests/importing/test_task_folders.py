"""What a task folder is read as; its own code does not run here."""

import os

import folders
import pytest

from amdkernel_mcp.errors import ImportRefused, InputError
from amdkernel_mcp.importing.task_folders import read_source


def test_the_smallest_test_of_a_gpu_mode_task_is_the_case_of_its_module(tmp_path):
    module = read_source(folders.gpu_mode(tmp_path / "collection" / "mean"), "train")
    compile(module.text, "module", "exec")
    assert "\nrows = 16\ncols = 20\nkind = 'wide'\n" in module.text
    assert module.tests == ({"rows": 48, "cols": 33},)
    assert "SCALE = 0.5" in module.text
    assert "def make_match_reference" in module.text


def test_the_module_of_an_arena_task_is_taken(tmp_path):
    assert read_source(folders.arena(tmp_path / "scale"), "train").text == folders.ARENA_MODULE


def test_a_task_that_only_its_own_host_code_judges_is_refused(tmp_path):
    with pytest.raises(ImportRefused, match="its own scripts judge it, with host code"):
        read_source(folders.arena(tmp_path / "program", module=False), "train")


def test_only_files_of_the_task_and_its_collection_are_read(tmp_path):
    folder = folders.gpu_mode(tmp_path / "deep" / "collection" / "mean")
    secret = tmp_path / "secret.py"
    secret.write_text("KEY = 'do not read'\n")
    (folder.parent / "linked.py").symlink_to(secret)
    sources = "".join(f'  - {{"name": "a", "source": "{name}"}}\n' for name in ("../../../secret.py", "../linked.py"))
    (folder / "task.yml").write_text(folders.MEAN_TASK.replace("lang:", f"{sources}lang:", 1))
    assert "do not read" not in read_source(folder, "train").text


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ("tests: [", "task.yml is not YAML"),
        ("tests: 5", "`tests` of task.yml is not a list"),
        ("tests: [{'rows); import os': 5}]", "must list keyword arguments"),
        ("tests: [{rows: {a: 1}}]", "must list keyword arguments"),
        ("lang: py", "task.yml lists no tests"),
        ("[1]", "not a table of keys"),
        ("a: " + "[" * 5000, "task.yml is not YAML"),
        ("x" * (65 << 10), "larger than 64 KiB"),
    ],
)
def test_a_task_file_that_cannot_be_used_is_refused(tmp_path, task, said):
    folder = folders.gpu_mode(tmp_path / "collection" / "mean")
    (folder / "task.yml").write_text(task)
    with pytest.raises(ImportRefused, match=said):
        read_source(folder, "train")


def test_a_reference_without_its_functions_is_refused(tmp_path):
    folder = folders.gpu_mode(tmp_path / "collection" / "mean")
    (folder / "reference.py").write_text("def ref_kernel(data):\n    return data\n")
    with pytest.raises(ImportRefused, match="defines no generate_input"):
        read_source(folder, "train")
    (folder / "reference.py").write_text("def (\n")
    with pytest.raises(ImportRefused, match=r"reference\.py is not Python"):
        read_source(folder, "train")


def test_other_folders_and_large_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"neither task\.yml nor config\.yaml"):
        read_source(tmp_path, "train")
    large = tmp_path / "large.py"
    large.write_bytes(b"#" * (49 << 10))
    with pytest.raises(ImportRefused, match=r"size: large\.py is larger than 48 KiB"):
        read_source(large, "train")
    with pytest.raises(InputError, match="cannot be read"):
        read_source(tmp_path / "nosuch.py", "train")
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(InputError, match="not a file"):
        read_source(tmp_path / "pipe.py", "train")
