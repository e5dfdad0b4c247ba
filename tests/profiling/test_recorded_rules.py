"""Findings on recordings: what is fine is not reported, and what is unknown is not called low."""

from pathlib import Path

from amdkernel_mcp.profiling.import_recording import import_recording
from amdkernel_mcp.profiling.rules.recorded import diagnose_recording
from amdkernel_mcp.results.kernels import Diagnosis, KernelProfile
from amdkernel_mcp.results.quantity import Metric


def kernel(**values: float) -> KernelProfile:
    """A kernel of 100 us with these metrics; underscores are spaces."""
    metrics = {"Kernel Time": 100_000.0} | {name.replace("_", " "): value for name, value in values.items()}
    found = {name: Metric(value=value, evidence="measured", unit="") for name, value in metrics.items()}
    absent = Metric(value=None, evidence="not_measured", unit="%")
    found = {"HBM read+write, % of peak": absent, "VALU Utilization": absent} | found
    return KernelProfile(name="k", dispatches=1, metrics=found, bound=None)


def the_one(*kernels: KernelProfile) -> Diagnosis:
    (found,) = diagnose_recording(kernels)
    return found


def test_perfect_accesses_of_sixteen_bytes_a_lane_are_not_called_uncoalesced() -> None:
    found = the_one(kernel(vL1D_Coalescing=25.0, vL1D_Stalled_on_L2_Data=60.0))
    assert "Uncoalesced" not in found.finding


def test_scattered_accesses_that_stall_the_cache_are_found() -> None:
    found = the_one(kernel(vL1D_Coalescing=6.0, vL1D_Stalled_on_L2_Data=60.0))
    assert "Uncoalesced accesses" in found.finding


def test_a_recording_without_figures_does_not_say_that_all_are_low() -> None:
    found = the_one(kernel(Wavefronts=5.0))
    assert "near its peak" not in found.because
    assert "has no unit's utilisation" in found.because


def test_known_figures_that_are_low_are_listed() -> None:
    found = the_one(kernel(VALU_Utilization=12.0))
    assert "no unit is near its peak: VALU Utilization 12" in found.because


def test_counters_that_are_all_zero_are_called_uncounted(tmp_path: Path) -> None:
    head = "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
    path = tmp_path / "a_counter_collection.csv"
    for active, said in ((0, True), (5000, False)):
        path.write_text(f"{head}1,k,GRBM_GUI_ACTIVE,{active},1000,91000\n1,k,SQ_WAVES,0,1000,91000\n")
        warnings = import_recording(path, gpu="RX 7900 XTX").warnings
        assert any("amd-smi set -g 0 -l stable_std" in warning for warning in warnings) == said
