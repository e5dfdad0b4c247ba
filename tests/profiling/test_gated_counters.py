"""Counters of a Radeon whose clock was gated read 0: what they would give is not measured."""

import pytest

from amdkernel_mcp.profiling.gated_counters import level_warning
from amdkernel_mcp.profiling.import_recording import import_files
from amdkernel_mcp.results.kernels import ProfileResult

COLUMNS = (
    "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,Kernel_Name,Workgroup_Size,"
    "LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,"
    "End_Timestamp"
)
COUNTED = {"GRBM_GUI_ACTIVE": 9e6, "SQ_WAVES": 64, "SQ_INSTS_VALU": 640, "LdsLatency": 0}
L2 = ("GL2C_HIT", "GL2C_MISS", "GL2C_EA_RDREQ_128B", "GL2C_EA_RDREQ_64B", "GL2C_EA_RDREQ_32B", "GL2C_EA_RDREQ_96B",
      "GL2C_MC_WRREQ", "GL2C_EA_WRREQ_64B")  # fmt: skip


def profile(gpu: str, counters: dict[str, float]) -> ProfileResult:
    """A profile of two dispatches that both counted this."""
    rows = [
        f"{n},{n},Agent 1,1,77,77,16384,1,k,256,0,0,8,0,16,{name},{value},{n}000000,{n}900000"
        for n in (1, 2)
        for name, value in counters.items()
    ]
    return import_files(
        {"profile/pass_1/out_counter_collection.csv": "\n".join([COLUMNS, *rows, ""]).encode()}, gpu=gpu
    )


def test_a_block_that_counted_nothing_in_any_dispatch_is_not_measured_on_a_radeon() -> None:
    found = profile("RX 7900 XTX", COUNTED | dict.fromkeys(L2, 0))
    [kernel] = found.kernels
    assert kernel.metrics["L2-Fabric Read BW"].evidence == "not_measured"
    assert kernel.metrics["VALU Instructions per Wave"].value == 10
    [said] = [warning for warning in found.warnings if "gated" in warning]
    assert said.startswith("all counters of GL2C are 0, as those of a gated block on gfx1100: not measured; ")


@pytest.mark.parametrize(("gpu", "counters"), [
    ("RX 7900 XTX", COUNTED | dict.fromkeys(L2, 0) | {"GL2C_MISS": 3}),
    ("MI300X", COUNTED | {"TCC_HIT_sum": 0, "TCC_MISS_sum": 0}),
    ("RX 9070 XT", {"GRBM_GUI_ACTIVE": 0, "SQ_WAVES": 0}),
])  # fmt: skip
def test_what_counted_something_and_a_gpu_that_gates_no_counters_keep_their_zeros(
    gpu: str, counters: dict[str, float]
) -> None:
    assert not [warning for warning in profile(gpu, counters).warnings if "gated" in warning]


def test_the_level_is_spoken_of_before_the_passes_where_it_matters() -> None:
    [said] = level_warning("gfx1201", "auto")
    assert "amd-smi set -l stable_std" in said
    assert [level_warning(*each) for each in (("gfx1201", "stable_std"), ("gfx942", "auto"), ("gfx1100", None))] == [
        []
    ] * 3
