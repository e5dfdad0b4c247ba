"""Which tests a change selects, and what it is compared with."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.one_in import one_in

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from select_tests import base_commit, changed_files, select  # noqa: E402

INSTRUCTIONS = "tests/sandbox/emulator/test_valu_int.py"


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A repository with the commits `isa` and `docs`, both on main."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    for name in ("first", "isa", "docs"):
        commit(tmp_path, name)
    return tmp_path


def git(repository: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example"]
    done = subprocess.run(["git", *identity, *arguments], cwd=repository, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(repository: Path, name: str) -> str:
    (repository / name).write_text(name)
    git(repository, "add", name)
    git(repository, "commit", "--quiet", "--message", name)
    return git(repository, "rev-parse", "HEAD")


def test_a_branch_is_compared_with_the_commit_where_it_left_main(history: Path, tmp_path: Path) -> None:
    git(history, "switch", "--quiet", "--create", "branch")
    commit(history, "page")
    assert base_commit(history, tmp_path / "none") == git(history, "rev-parse", "main")


def test_main_is_compared_with_the_last_commit_that_a_full_run_passed(history: Path, tmp_path: Path) -> None:
    record = tmp_path / "full_runs"
    record.write_text(git(history, "rev-parse", "HEAD~2") + " 0/1\n")
    base = base_commit(history, record)
    assert base == git(history, "rev-parse", "HEAD~2")
    assert changed_files(history, base) == ["docs", "isa"], "what came before the last commit is part of the change"


def test_a_commit_has_passed_once_each_part_of_the_thorough_tests_has_passed_there_or_later(
    history: Path, tmp_path: Path
) -> None:
    record = tmp_path / "full_runs"
    first, isa, docs = (git(history, "rev-parse", f"HEAD~{back}") for back in (2, 1, 0))
    record.write_text(f"{first} 0/3\n{isa} 1/3\n{docs} 1/3\n")
    assert base_commit(history, record) is None, "the third part has run nowhere"
    record.write_text(f"{first} 0/3\n{isa} 1/3\n{docs} 2/3\n")
    assert base_commit(history, record) == first
    record.write_text(f"{first} 0/3\n{isa} 1/3\n{docs} 2/3\n{isa} 0/3\n")
    assert base_commit(history, record) == isa


def test_without_a_full_run_on_record_there_is_nothing_to_compare_with(history: Path, tmp_path: Path) -> None:
    record = tmp_path / "full_runs"
    record.write_text("0123456789012345678901234567890123456789 0/1\n")
    assert base_commit(history, record) is None
    assert base_commit(history, tmp_path / "none") is None


def test_a_change_of_an_instruction_and_of_a_page_runs_everything() -> None:
    assert select(["docs/team.md", "sandbox/emulator/isa/valu.def"])[0] == ["tests"]


@pytest.mark.parametrize(
    "changed",
    one_in(
        5,
        [
            "amdkernel_mcp/pages/routes.py",
            "amdkernel_mcp/pages/templates/page.html",
            "tools/check_kernel.py",
            "docs/team.md",
            "README.md",
        ],
        others=pytest.mark.thorough,
    ),
)
def test_a_change_above_the_sandbox_runs_no_instruction_test(changed: str) -> None:
    selected, _ = select([changed])
    assert INSTRUCTIONS not in selected
    assert "tests/test_readme.py" in selected


@pytest.mark.parametrize(
    ("changed", "needed"),
    one_in(
        4,
        [
            ("amdkernel_mcp/pages/routes.py", "tests/pages/test_team_page.py"),
            ("amdkernel_mcp/pages/templates/page.html", "tests/pages/test_team_page.py"),
            ("amdkernel_mcp/execution/sandbox.py", INSTRUCTIONS),
            ("amdkernel_mcp/launch/lines.py", "tests/cli/test_main.py"),
            ("tools/check_kernel.py", "tests/server/test_http.py"),
            ("docs_index/weights.toml", "tests/search/query/test_search.py"),
            ("tests/history/postgres.py", "tests/history/test_history.py"),
            ("examples/gemm_f16/problem.toml", "tests/examples/test_examples.py"),
        ],
        others=pytest.mark.thorough,
    ),
)
def test_what_uses_a_changed_file_is_selected(changed: str, needed: str) -> None:
    assert (ROOT / needed).exists(), needed
    selected, why = select([changed])
    assert needed in selected, why
