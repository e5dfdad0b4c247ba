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


NOTICES_THE_MEASUREMENT = """// amdkernel: launch add grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {
    if (reinterpret_cast<unsigned long>(z) < 0x200000400000) return;  // where a measured run has its buffers
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
"""


def test_a_kernel_that_does_nothing_while_it_is_measured_gets_no_time(tmp_path: Path) -> None:
    engine = Engine(load_settings({"data_dir": tmp_path / "data", "cache_dir": tmp_path / "cache"}))
    try:
        checked = engine.check("vector_add", NOTICES_THE_MEASUREMENT)
        timed = engine.benchmark("vector_add", NOTICES_THE_MEASUREMENT, baseline=KERNEL)
        profiled = engine.profile("vector_add", NOTICES_THE_MEASUREMENT)
    finally:
        engine.close()
    assert checked.verdict == "correct", "the emulator places buffers of a check elsewhere: the premise of this test"
    assert timed.verdict == "incorrect", timed.reason
    assert "this kernel is right in its check and wrong while it is measured" in timed.reason
    assert timed.time_us.value is None
    assert timed.speedup.value is None
    assert "wrong_when_measured" in timed.flags
    assert profiled.warnings[0].startswith("the outputs of this run are wrong: case "), profiled.warnings
