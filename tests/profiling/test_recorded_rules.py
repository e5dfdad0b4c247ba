"""Findings on recordings: what is fine is not reported, and what is unknown is not called low."""

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
