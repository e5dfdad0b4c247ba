from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from amdkernel_mcp.engine.tuning.outcome import Outcome
from amdkernel_mcp.engine.tuning.row_cache import RowCache, RowKey
from amdkernel_mcp.measurement.counters import CaseRun, Dispatch, PcCounts
from amdkernel_mcp.measurement.side import Side
from amdkernel_mcp.results.quantity import Metric

KEY = RowKey("source", ("-DA=1",), "sha256:p", "gfx942", "MI300X", "sha256:i", "c", "n=1")
DISPATCH = Dispatch("k", (2, 1, 1), (64, 1, 1), {"SQ_WAVES": 2.0}, None, {16: PcCounts(3)}, 128)
COUNTERS = {"SQ_WAVES": Metric(value=2.0, evidence="emulated", unit="waves")}
ROW = Outcome({"A": "1"}, "correct", "fine", side=Side((CaseRun("n=1", (DISPATCH,)),), {"k": 8}, COUNTERS))


def test_a_row_comes_back_without_the_counts_of_each_instruction(tmp_path: Path) -> None:
    RowCache(tmp_path).put(KEY, ROW)
    found = RowCache(tmp_path).get(KEY)
    run = CaseRun("n=1", (replace(DISPATCH, pcs={}),))
    assert found == replace(ROW, side=Side((run,), {"k": 8}, COUNTERS), cached=True)


@pytest.mark.parametrize("part", ["source", "problem", "arch", "gpu", "image", "inputs", "case"])
def test_another_content_is_another_row(tmp_path: Path, part: Any) -> None:
    cache = RowCache(tmp_path)
    cache.put(KEY, ROW)
    changed: dict[str, Any] = {part: "other"}
    assert cache.get(replace(KEY, **changed)) is None
    assert cache.get(replace(KEY, flags=("-DA=2",))) is None


@pytest.mark.parametrize("damage", [lambda old: old[:-1], lambda old: old[:40] + b"x" + old[41:], lambda _: b""])
def test_an_entry_that_was_damaged_is_no_row(tmp_path: Path, damage) -> None:
    cache = RowCache(tmp_path)
    cache.put(KEY, ROW)
    [file] = [path for path in tmp_path.rglob("*") if path.is_file()]
    file.write_bytes(damage(file.read_bytes()))
    assert cache.get(KEY) is None
    assert not file.exists()


@pytest.mark.parametrize("verdict", ["timeout", "crashed", "invalid", "not_measured"])
def test_a_verdict_that_may_change_is_not_kept(tmp_path: Path, verdict) -> None:
    RowCache(tmp_path).put(KEY, replace(ROW, verdict=verdict, side=None))
    assert RowCache(tmp_path).get(KEY) is None


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("")
    assert "cannot be written" in (RowCache(tmp_path).put(KEY, ROW) or "")
