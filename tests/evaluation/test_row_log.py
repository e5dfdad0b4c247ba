"""Rows that survive what interrupts a run."""

import csv
from pathlib import Path

import pytest

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.evaluation.row_log import RowLog
from amdkernel_mcp.evaluation.scores import scores
from amdkernel_mcp.results.evaluation import EvaluatedKernel


def row(key: str, **more: object) -> EvaluatedKernel:
    return EvaluatedKernel.model_validate(
        {"problem": "a", "candidate": "a/b.hip", "key": key, "check": "correct"} | more
    )


def test_rows_are_read_back_by_key_and_the_newest_counts(tmp_path: Path) -> None:
    for each in (row("1", reason="old"), row("2"), row("1", reason="new")):
        RowLog(tmp_path).add(each)
    assert {key: found.reason for key, found in RowLog(tmp_path).rows().items()} == {"1": "new", "2": ""}


def test_a_row_that_failed_is_judged_again(tmp_path: Path) -> None:
    RowLog(tmp_path).add(row("1", check=None, failed="no sandbox"))
    assert not RowLog(tmp_path).rows()


@pytest.mark.parametrize("keep", [1, 40, -1])
def test_a_row_cut_off_in_the_middle_spoils_no_other(tmp_path: Path, keep: int) -> None:
    log = RowLog(tmp_path)
    log.add(row("1"))
    log.add(row("2"))
    file = tmp_path / "rows.jsonl"
    first, second = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(first + second[: keep if keep > 0 else -2])
    again = RowLog(tmp_path)
    again.add(row("3"))
    assert set(RowLog(tmp_path).rows()) == {"1", "3"}


def test_lines_that_are_not_rows_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(b'\xff\xfe\n{"key": 5}\nnull\n' + b"[" * 100_000 + b"\n")
    assert not RowLog(tmp_path).rows()


def test_a_table_cell_is_never_a_formula(tmp_path: Path) -> None:
    log, rows = RowLog(tmp_path), [row("1", reason="=HYPERLINK(1)"), row("2", reason="two\nlines, one cell")]
    log.write_summary(rows, scores(["a"], rows))
    with (tmp_path / "rows.csv").open(newline="") as file:
        assert [each["reason"] for each in csv.DictReader(file)] == ["'=HYPERLINK(1)", "two\nlines, one cell"]


def test_a_results_folder_that_cannot_be_made_is_wrong_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        RowLog(tmp_path / "file" / "results")
