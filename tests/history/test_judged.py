"""What is remembered of the problem that a kernel was judged with."""

from collections.abc import Callable
from pathlib import Path

import pytest
from problem_text import REFERENCE, TOML, changed, write_problem

from amdkernel_mcp.history.judged import JudgedProblems
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.results.kernels import BenchmarkResult, CheckResult

EDITS = {
    "tolerance": changed("rtol = 1e-5", "rtol = 1e-2"),
    "cases": changed("cols = 33\nheld_out = true", "cols = 33"),
    "arguments": changed('init = "normal"', 'init = "zeros"'),
}


@pytest.mark.parametrize("part", [*EDITS, "reference"])
def test_an_answer_names_the_part_that_changed_since_its_baseline_was_judged(tmp_path: Path, part: str) -> None:
    judged = JudgedProblems(tmp_path / "data")
    before = load_problem(write_problem(tmp_path / "softmax"))
    judged.stamp(CheckResult(verdict="correct"), "BASE", before)
    body = REFERENCE if part != "reference" else REFERENCE.replace("e / e.sum", "0 * e / e.sum")
    after = load_problem(write_problem(tmp_path / "copy" / "softmax", EDITS.get(part, TOML), body))
    judged.stamp(CheckResult(verdict="correct"), "BASE", after)  # judged again: the first time counts
    answer = judged.stamp_comparison(BenchmarkResult(reason="1.2x"), "NEW", "BASE", after)
    assert answer.reason == f"1.2x; the problem has changed since the baseline was first judged: {part}"
    assert answer.hashes
    assert answer.hashes.problem == after.hash != before.hash


UNCHANGED: dict[str, Callable[[str], str]] = {
    "nothing": lambda text: text,
    "its title": lambda text: text.replace("Row softmax", "Softmax of rows"),
    "a comment": lambda text: "# a comment\n" + text,
}


@pytest.mark.parametrize("edit", UNCHANGED.values(), ids=UNCHANGED)
def test_what_no_verdict_depends_on_is_no_change(tmp_path: Path, edit: Callable[[str], str]) -> None:
    judged = JudgedProblems(tmp_path / "data")
    judged.stamp(CheckResult(verdict="correct"), "BASE", load_problem(write_problem(tmp_path / "softmax")))
    after = load_problem(write_problem(tmp_path / "softmax", edit(TOML)))
    assert judged.stamp_comparison(BenchmarkResult(reason="1.2x"), "NEW", "BASE", after).reason == "1.2x"


def test_a_baseline_that_was_never_judged_correct_has_no_first_problem(tmp_path: Path) -> None:
    judged = JudgedProblems(tmp_path / "data")
    before = load_problem(write_problem(tmp_path / "softmax"))
    judged.stamp(CheckResult(verdict="incorrect"), "BASE", before)
    after = load_problem(write_problem(tmp_path / "softmax", EDITS["tolerance"]))
    assert judged.stamp_comparison(BenchmarkResult(reason="1.2x"), "NEW", "BASE", after).reason == "1.2x"


def test_a_memory_that_cannot_be_written_or_read_costs_no_answer(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    problem = load_problem(write_problem(tmp_path / "softmax"))
    judged = JudgedProblems(tmp_path / "file")
    assert judged.stamp(CheckResult(verdict="correct"), "BASE", problem).hashes
    judged = JudgedProblems(tmp_path / "data")
    judged.stamp(CheckResult(verdict="correct"), "BASE", problem)
    for entry in (tmp_path / "data" / "judged").iterdir():
        entry.write_text("[1")
    assert judged.stamp_comparison(BenchmarkResult(reason="1.2x"), "NEW", "BASE", problem).reason == "1.2x"
