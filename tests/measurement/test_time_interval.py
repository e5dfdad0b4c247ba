"""A modelled time as an interval: recorded launches lie in it, and kernels that wait have a long upper end."""

import pytest

from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.measurement.benchmark import benchmark
from amdkernel_mcp.measurement.counters import CaseRun, Dispatch
from amdkernel_mcp.measurement.roofline import dispatch_bounds
from amdkernel_mcp.measurement.side import Side
from amdkernel_mcp.measurement.time_interval import FITTED, LAUNCH_US, launch_interval, time_interval
from amdkernel_mcp.profiling.profile import profile
from benchmarks.model import PAGE, page
from benchmarks.recorded_times import coverage, cross_validated, fit, median_error, recorded_launches

MI300X = gpu_by_name("MI300X")


def launch(*, groups: int = 4096, block: int = 256, **counters: float) -> Dispatch:
    return Dispatch("k", (groups, 1, 1), (block, 1, 1), {"SQ_WAVES": groups * block / 64, **counters})


def copy(mib: float) -> Dispatch:
    return launch(groups=max(int(mib * 2**20 / 64 / 256), 1), memory_bytes_read=mib * 2**20 / 2)


def test_four_of_five_held_out_durations_lie_in_their_interval() -> None:
    found = cross_validated(recorded_launches())
    assert coverage(found) >= 0.8
    assert median_error(found) < 1.3
    assert PAGE.read_text() == page(found), "python benchmarks/model.py --write"


def test_the_parameters_in_use_are_those_of_the_fit() -> None:
    fitted = fit(recorded_launches())
    assert (FITTED.launch_us, FITTED.fastest, FITTED.slowest) == pytest.approx(
        (fitted.launch_us, fitted.fastest, fitted.slowest), rel=0.02
    )


def test_a_launch_without_work_costs_a_launch() -> None:
    found = launch_interval(launch(groups=1, block=64), MI300X)
    assert found.likely_us == pytest.approx(LAUNCH_US)
    assert found.low_us < LAUNCH_US < found.high_us


def test_no_interval_begins_below_a_bound_at_the_peaks() -> None:
    busy = launch(groups=304 * 8, SQ_INSTS_VALU=1216 * 2100 * 100)
    assert dispatch_bounds(busy, MI300X)["vector_alu"] == pytest.approx(400)
    assert launch_interval(busy, MI300X).low_us >= 400


def test_a_chain_of_loads_of_one_wave_is_slow_and_its_upper_end_far() -> None:
    """100 dependent loads from memory: at least 100 times the latency of an idle one by two, at most 100 under load."""
    chained = launch(
        groups=1, block=64, SQ_INSTS=400, SQ_INSTS_VMEM_RD=100, waits_for_memory=100, longest_wave_insts=400
    )
    found = launch_interval(chained, MI300X)
    assert max(dispatch_bounds(chained, MI300X).values()) < 1, "the roofline alone calls it fast"
    assert found.low_us > 100 * 0.34 / 2
    assert found.high_us > 100 * 0.8
    assert found.high_us > 5 * found.low_us


def test_the_same_loads_of_many_waves_take_no_longer() -> None:
    each = {"SQ_INSTS": 400.0, "SQ_INSTS_VMEM_RD": 100.0, "waits_for_memory": 100.0}
    one = launch_interval(launch(groups=1, block=64, **each), MI300X)
    many = launch_interval(launch(groups=1216, block=64, **{name: 1216 * n for name, n in each.items()}), MI300X)
    assert many.likely_us == pytest.approx(one.likely_us, rel=0.01)


def test_barriers_of_one_workgroup_take_time() -> None:
    plain = launch(groups=1, block=1024)
    barred = launch(groups=1, block=1024, barriers=16 * 1000)
    added = launch_interval(barred, MI300X).likely_us - launch_interval(plain, MI300X).likely_us
    assert added == pytest.approx(0.6 * 1000 * 100 / 2100, rel=0.01)


def test_launches_one_after_the_other_add_up() -> None:
    one, two = launch_interval(copy(64), MI300X), launch_interval(copy(256), MI300X)
    both = time_interval([copy(64), copy(256)], MI300X)
    assert (both.low_us, both.likely_us, both.high_us) == pytest.approx(
        (one.low_us + two.low_us, one.likely_us + two.likely_us, one.high_us + two.high_us)
    )


def test_benchmark_and_profile_show_the_same_interval() -> None:
    run = CaseRun("n=1", (copy(64), copy(256)))
    timed = benchmark(candidate=Side((run,)), baseline=None, gpu=MI300X, target="t", emulated=True)
    [seen] = profile(runs=[run], resources=[], source="", lines=None, gpu=MI300X, target="t").kernels
    assert timed.modelled_us == seen.modelled_us
    assert seen.metrics["Modelled Time"].value == timed.time_us.value


def test_the_sentence_of_a_benchmark_begins_with_both_intervals() -> None:
    ours, theirs = (Side((CaseRun("n=1", (copy(mib),)),)) for mib in (256, 1024))
    answer = benchmark(candidate=ours, baseline=theirs, gpu=MI300X, target="t", emulated=True)
    assert answer.modelled_us is not None
    assert answer.baseline_modelled_us is not None
    assert answer.verdict == "faster", answer.reason
    first = answer.reason.partition(": ")[0]
    assert first == "modelled 28 to 57 us on MI300X, the baseline 100 to 210 us"
