"""A large recording is cut to the kernels that matter, and what was left out is counted."""

from pathlib import Path

import pytest

from amdkernel_mcp.errors import InputError, ProfileFileError
from amdkernel_mcp.profiling.import_recording import import_recording
from tests.profiling.traces import code_json, write


def trace(folder: Path, kernels: int) -> Path:
    """A kernel trace; kernel number n takes n us."""
    rows = [f"{n},kernel_{n:03},64,{n * 10**6},{n * 10**6 + n * 1000}" for n in range(1, kernels + 1)]
    header = "Dispatch_Id,Kernel_Name,Workgroup_Size_X,Start_Timestamp,End_Timestamp"
    return write(folder / "a_kernel_trace.csv", "\n".join([header, *rows]) + "\n")


def test_the_kernels_with_most_time_are_kept_and_the_others_counted(tmp_path: Path) -> None:
    result = import_recording(trace(tmp_path, 100))
    assert [kernel.name for kernel in result.kernels] == [f"kernel_{n:03}" for n in range(100, 80, -1)]
    assert "80 more kernels with 64.2% of the time: --limit or --kernel shows them" in result.warnings


def test_a_limit_keeps_that_many(tmp_path: Path) -> None:
    result = import_recording(trace(tmp_path, 30), limit=3)
    assert [kernel.name for kernel in result.kernels] == ["kernel_030", "kernel_029", "kernel_028"]
    assert not any("more kernel" in warning for warning in import_recording(trace(tmp_path, 30), limit=30).warnings)


def test_a_part_of_the_name_in_any_case_selects(tmp_path: Path) -> None:
    result = import_recording(trace(tmp_path, 100), kernel="KERNEL_04")
    assert {kernel.name for kernel in result.kernels} == {f"kernel_04{n}" for n in range(10)}


def test_a_name_that_no_kernel_has_is_refused_with_those_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(ProfileFileError, match="no kernel of the recording has 'gemm' in its name") as refused:
        import_recording(trace(tmp_path, 3), kernel="gemm")
    assert refused.value.hint == "it has kernel_003, kernel_002, kernel_001"


@pytest.mark.parametrize("limit", [0, -1, 10**9])
def test_a_limit_out_of_range_is_refused(tmp_path: Path, limit: int) -> None:
    with pytest.raises(InputError, match="must be 1 to 1000"):
        import_recording(trace(tmp_path, 3), limit=limit)


def test_instructions_of_kernels_that_are_left_out_are_left_out_too(tmp_path: Path) -> None:
    trace(tmp_path, 30)
    code_json(tmp_path / "ui_output_agent_1_dispatch_1", name="kernel_001")
    assert not any(kernel.hot_lines for kernel in import_recording(tmp_path, limit=5).kernels)
    (kernel,) = import_recording(tmp_path, kernel="kernel_001").kernels
    assert kernel.hot_lines
