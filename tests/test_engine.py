"""Verbs of the engine from end to end, where a worker's own tests do not reach."""

from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine import Engine

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox")]

KERNEL = (folder("examples") / "vector_add" / "kernels" / "naive.hip").read_text()


def test_a_cache_that_is_no_folder_costs_no_answer_and_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    engine = Engine(load_settings({"data_dir": tmp_path / "data", "cache_dir": tmp_path / "file" / "cache"}))
    try:
        checked = engine.check("vector_add", KERNEL)
        timed = engine.benchmark("vector_add", KERNEL)
    finally:
        engine.close()
    assert checked.verdict == "correct", checked.reason
    assert timed.time_us.evidence == "modelled", timed.reason
    assert timed.counters["SQ_WAVES"].evidence == "emulated"
    for answer in (checked, timed):
        assert len(answer.not_cached) == 2
        assert all("cannot be written: Not a directory" in note for note in answer.not_cached)
