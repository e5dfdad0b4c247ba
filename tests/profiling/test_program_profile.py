"""The profile of a program from the emulator's records: launches of one shape are weighed, faults left out."""

import pytest

from amdkernel_mcp.hardware.specs import gpu_by_name
from amdkernel_mcp.profiling.program import profile_program
from amdkernel_mcp.results.programs import ProgramProfile
from amdkernel_mcp.runner_protocol.records import DispatchFault, DispatchRecord, LaunchCount

MI300X = gpu_by_name("MI300X")
KEPT = 4


def record(kernel: str, *, groups: int = 64, read: int = 1 << 20, fault: DispatchFault | None = None) -> DispatchRecord:
    return DispatchRecord(
        kernel=kernel,
        grid=(groups, 1, 1),
        block=(256, 1, 1),
        lds_bytes=0,
        seconds=0.0,
        counters={"SQ_WAVES": groups * 4, "SQ_INSTS": groups * 40, "memory_bytes_read": read},
        pcs=[],
        fault=fault,
    )


def count(kernel: str, number: int, *, process: int = 1) -> LaunchCount:
    return LaunchCount(again=kernel, grid=(64, 1, 1), block=(256, 1, 1), object=0, process=process, count=number)


def profiled(records: list[DispatchRecord], counts: list[LaunchCount]) -> ProgramProfile:
    return profile_program(
        records, counts, code={}, names={"_Z1ai": "a(int)"}, sources={}, gpu=MI300X, target="t", kept=KEPT
    )


def test_launches_without_a_record_count_as_the_mean_of_the_recorded_ones() -> None:
    few = profiled([record("a", read=read << 20) for read in (1, 2, 3, 2)], [])
    many = profiled([record("a", read=read << 20) for read in (1, 2, 3, 2)], [count("a", 5), count("a", 400)])
    assert (few.kernels[0].launches, many.kernels[0].launches) == (4, 400)
    assert few.kernels[0].modelled_us is not None
    assert many.kernels[0].modelled_us is not None
    assert many.kernels[0].modelled_us.low == pytest.approx(100 * few.kernels[0].modelled_us.low)
    assert many.kernels[0].profile.metrics["memory_bytes_read"].value == 8 << 20


def test_launches_of_several_processes_add_up() -> None:
    found = profiled([record("a")] * 9, [count("a", 10, process=1), count("a", 20, process=2)])
    assert found.kernels[0].launches == 31, "four records each of two processes that count, and one of a third"


def test_shares_are_of_the_middle_of_the_modelled_time_and_names_are_the_sources() -> None:
    found = profiled([record("_Z1ai"), record("b", read=1 << 30)], [])
    assert [kernel.name for kernel in found.kernels] == ["b", "a(int)"]
    assert sum(kernel.share or 0 for kernel in found.kernels) == pytest.approx(1)


def test_shapes_of_one_kernel_are_one_row() -> None:
    [row] = profiled([record("a", groups=64), record("a", groups=128)], []).kernels
    assert (row.launches, row.shapes) == (2, 2)


def test_a_launch_that_a_fault_stopped_is_left_out() -> None:
    fault = DispatchFault(kind="trap", pc=0, workgroup=(0, 0, 0), wave=0, lane=0, instruction="s_trap")
    alone = profiled([record("a", fault=fault)], [])
    assert (alone.kernels, alone.notes) == ([], ["1 launch that a fault stopped: left out"])
    assert [kernel.launches for kernel in profiled([record("a"), record("a", fault=fault)], []).kernels] == [1]
