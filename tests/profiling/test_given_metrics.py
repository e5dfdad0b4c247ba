"""Recordings that hold only what the profiler computed itself, and those whose figures need a second look."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.import_recording import import_recording
from amdkernel_mcp.profiling.report import OUTLIERS
from amdkernel_mcp.profiling.rules.recorded import FIT
from amdkernel_mcp.results.kernels import ProfileResult
from tests.profiling.traces import write

HEAD = "Dispatch_Id,Kernel_Name,Grid_Size,Workgroup_Size,LDS_Block_Size,VGPR_Count,Accum_VGPR_Count,"
HEAD += "Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp"


def recording(
    folder: Path, *runs: Mapping[str, float], gpu: str = "MI300X", took_us: float = 100, vgprs: int = 64
) -> ProfileResult:
    """One dispatch of `k`, counted in a run for each of `runs`."""
    for number, counters in enumerate(runs, start=1):
        rows = [
            f"1,k,1048576,256,0,{vgprs},0,{name},{value},1000,{1000 + round(took_us * 1000)}"
            for name, value in counters.items()
        ]
        write(folder / f"pass_{number}" / "out_counter_collection.csv", "\n".join([HEAD, *rows]) + "\n")
    return import_recording(folder, gpu=gpu)


def test_the_profilers_own_figures_stand_in_for_counters(tmp_path: Path) -> None:
    mib = 1024.0
    found = recording(
        tmp_path, {"VALUBusy": 2.75, "OccupancyPercent": 11.0, "L2CacheHit": 40}, {"FETCH_SIZE": 50 * mib},
        {"WRITE_SIZE": 10 * mib},
    )  # fmt: skip
    (kernel,) = found.kernels
    assert kernel.metrics["VALU Utilization"].value == 2.75
    assert kernel.metrics["L2-Fabric Read BW"].value == pytest.approx(50 * 2**20 / 100e3)
    assert kernel.metrics["HBM read+write, % of peak"].note is None, "bytes of two runs may be added"
    assert kernel.bound == "latency"
    assert "few waves are resident" in found.diagnosis[0].finding
    assert "11 %" in found.diagnosis[0].because


def test_a_high_share_of_the_memory_is_a_finding_where_nothing_else_is_known(tmp_path: Path) -> None:
    moved = 0.89 * 256e9 * 100e-6 / 1024  # KiB in 100 us at 89 % of a Ryzen AI Max's memory
    found = recording(tmp_path, {"FETCH_SIZE": moved}, {"WRITE_SIZE": 0}, gpu="gfx1151")
    assert found.kernels[0].bound == "memory"
    assert "HBM read+write, % of peak is 89" in found.diagnosis[0].because


def test_a_copy_at_82_percent_of_what_is_reached_is_bound_by_memory(tmp_path: Path) -> None:
    lines = 0.82 * 0.79 * 5.3e12 * 100e-6 / 64
    counters = {
        "TCC_EA0_RDREQ_sum": lines, "TCC_EA0_RDREQ_32B_sum": 0, "TCC_BUBBLE_sum": 0, "TCC_EA0_WRREQ_sum": 0,
        "TCC_EA0_WRREQ_64B_sum": 0, "SQ_WAIT_ANY": 85, "SQ_WAVE_CYCLES": 100,
    }  # fmt: skip
    found = recording(tmp_path, counters)
    assert found.kernels[0].bound == "memory"
    assert "Dependency Wait is 85" in found.diagnosis[0].because


def test_busy_matrix_cores_without_a_figure_of_the_memory_are_a_bound(tmp_path: Path) -> None:
    assert recording(tmp_path, {"MfmaUtil": 82, "VALUBusy": 30}).kernels[0].bound == "matrix_cores"


def test_bank_conflicts_are_found_from_the_share_of_time_alone(tmp_path: Path) -> None:
    found = recording(tmp_path, {"LDSBankConflict": 31.0, "VALUBusy": 20.0})
    assert "LDS bank conflicts" in found.diagnosis[0].finding


def test_figures_of_a_diluted_run_are_lower_bounds(tmp_path: Path) -> None:
    active = 3 * 8 * 2.1e9 * 100e-6  # three times the kernel's time, on each of 8 XCDs
    (kernel,) = recording(tmp_path, {"VALUBusy": 20.0, "GRBM_GUI_ACTIVE": active}).kernels
    assert "lower bound" in (kernel.metrics["VALU Utilization"].note or "")


def test_registers_that_let_two_waves_reside_explain_waits(tmp_path: Path) -> None:
    waits = {"SQ_WAIT_ANY": 80, "SQ_WAVE_CYCLES": 100}
    found = recording(tmp_path, waits, vgprs=256)
    assert found.kernels[0].metrics[FIT].value == 2
    assert "Few waves fit" in found.diagnosis[0].finding


def test_a_first_touch_is_left_out_of_the_means(tmp_path: Path) -> None:
    head = "Kind,Agent_Id,Dispatch_Id,Kernel_Name,Start_Timestamp,End_Timestamp,Grid_Size_X,Workgroup_Size_X\n"
    took = [430_000_000, 630_000, 640_000, 620_000]
    rows = [f"KERNEL_DISPATCH,1,{n},k,{10**9 * n},{10**9 * n + ns},64,64\n" for n, ns in enumerate(took, start=1)]
    result = import_recording(write(tmp_path / "out_kernel_trace.csv", head + "".join(rows)), gpu="MI300X")
    (kernel,) = result.kernels
    assert kernel.metrics["Kernel Time"].value == 630_000
    assert kernel.metrics["Total Time"].value == sum(took)
    assert (kernel.dispatches, kernel.metrics[OUTLIERS].value) == (4, 1)
    assert any("430 ms next to 0.63 ms" in warning for warning in result.warnings)


def test_two_kinds_of_launch_are_not_outliers(tmp_path: Path) -> None:
    head = "Kind,Agent_Id,Dispatch_Id,Kernel_Name,Start_Timestamp,End_Timestamp,Grid_Size_X,Workgroup_Size_X\n"
    took = [900_000, 100_000, 900_000, 100_000, 100_000]
    rows = [f"KERNEL_DISPATCH,1,{n},k,{10**9 * n},{10**9 * n + ns},64,64\n" for n, ns in enumerate(took, start=1)]
    result = import_recording(write(tmp_path / "out_kernel_trace.csv", head + "".join(rows)), gpu="MI300X")
    assert OUTLIERS not in result.kernels[0].metrics
    assert result.kernels[0].metrics["Kernel Time"].value == sum(took) / 5


def test_counters_over_time_are_named(tmp_path: Path) -> None:
    process = {
        "agents": [], "counters": [], "kernel_symbols": [], "buffer_records": {"kernel_dispatch": []},
        "callback_records": {"counter_collection": [], "spm_counter_collection": [{"records": []}]},
    }  # fmt: skip
    path = write(tmp_path / "out_results.json", json.dumps({"rocprofiler-sdk-tool": [process]}))
    with pytest.raises(ProfileFileError, match=r"counters over time \(SPM\)"):
        import_recording(path)
