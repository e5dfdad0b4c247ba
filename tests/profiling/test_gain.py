"""What a finding promises agrees with the model once its cure is applied, and no next bound contradicts it."""

import re
from pathlib import Path
from typing import Any

import pytest
from test_emulated_profile import WAVES, run

from amdkernel_mcp.config import Settings
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.execution.targets import find_target
from amdkernel_mcp.profiling.rules.answer import RULED_OUT
from benchmarks.planted_kernels import Ran, run_file

CURED = Path(__file__).parent / "cured" / "cured.hip"
PAIRS = re.findall(r"// mistake: (.+)\n// amdkernel: launch (\w+)", CURED.read_text())
BELOW, ABOVE = 1.15, 1.25
"""Times that a cure may bring less, or more, than both ends of the promise: no two people cure alike."""

PRODUCT: dict[str, Any] = {
    "SQ_INSTS_MFMA": 400 * WAVES,
    "SQ_INSTS_VALU_MFMA_MOPS_F16": 400 * 32 * WAVES,
    "SQ_INSTS_VALU": 408 * WAVES,
    "SQ_INSTS": 420 * WAVES,
}
"""What a copy does, and as many matrix instructions (32 times 512 flop each) as take nearly as long as the mistakes."""


@pytest.mark.parametrize(
    ("finding", "mistake"),
    [
        pytest.param(
            "Loads are not coalesced",
            {"cache_lines_loaded": 25 * 64 * WAVES, "bytes_loaded": 25 * 256 * WAVES, "SQ_INSTS_VMEM_RD": 25 * WAVES},
            id="loads of which each touches 64 lines",
        ),
        pytest.param(
            "LDS accesses are misaligned",
            {"SQ_INSTS_LDS": 300 * WAVES, "lds_misaligned_lanes": 300 * 64 * WAVES, "SQ_LDS_IDX_ACTIVE": 3300 * WAVES},
            id="accesses of LDS at odd words",
        ),
    ],
)
def test_no_cure_brings_more_than_the_matrix_instructions_that_stay(finding: str, mistake: dict[str, Any]) -> None:
    bounds = {
        name: metric.value or 0.0
        for name, metric in run(**PRODUCT, **mistake).kernels[0].metrics.items()
        if name.startswith("Bound: ")
    }
    most = 1.3 * max(bounds.values()) / bounds["Bound: matrix_cores"]  # bounds are reached to different parts
    assert bounds["Bound: matrix_cores"] >= 0.75 * max(bounds.values()), bounds
    for row in run(**PRODUCT, **mistake).diagnosis:
        assert row.gain is None or row.gain.high <= most, (row.finding, row.gain)
    alone = next(row for row in run(**mistake).diagnosis if row.finding == finding)
    assert alone.gain is not None
    assert alone.gain.high > 2 * most, "without the matrix instructions it may bring much"


@pytest.fixture(scope="module")
def cured(sandbox: Sandbox, settings: Settings) -> Ran:
    return run_file(CURED, sandbox, find_target("emulator:gfx942", settings), settings.cache_dir)


@pytest.mark.sandbox
@pytest.mark.thorough
@pytest.mark.parametrize(("mistake", "kernel"), PAIRS, ids=[kernel for _, kernel in PAIRS])
def test_a_cure_brings_what_its_finding_promises(cured: Ran, mistake: str, kernel: str) -> None:
    before, after = cured.profile(kernel), cured.profile(f"{kernel}_cured")
    times = [each.kernels[0].metrics["Modelled Time"].value or 0.0 for each in (before, after)]
    row = next(row for row in before.diagnosis if mistake in row.finding and RULED_OUT not in row.finding)
    assert row.gain is not None
    brought = times[0] / times[1]
    assert row.gain.low / BELOW <= brought <= row.gain.high * ABOVE, (brought, row.gain)
