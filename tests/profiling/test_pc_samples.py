"""PC samples of rocprofv3, CSV and JSON, are read into the profile and joined with the kernels of the trace."""

from pathlib import Path

import pytest

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.import_recording import import_recording
from amdkernel_mcp.results.kernels import KernelProfile
from tests.profiling.traces import LOOP, samples_csv, samples_json, samples_process, write

SAMPLES = Path(__file__).parents[3] / "shared" / "data" / "rocprof" / "sdk_docs"
recorded = pytest.mark.skipif(
    not SAMPLES.exists(), reason="the recordings of the profiler's documentation are not here"
)
LOAD, WAIT = "global_load_dword v0, v[2:3], off", "s_waitcnt vmcnt(0)"
TRACE = "Dispatch_Id,Kernel_Name,Workgroup_Size_X,Start_Timestamp,End_Timestamp\n"


def value(kernel: KernelProfile, name: str) -> float | None:
    return kernel.metrics[name].value


@recorded
def test_stochastic_samples_of_a_real_gpu_have_reasons_only_where_no_instruction_was_issued() -> None:
    result = import_recording(SAMPLES / "pc_sampling_stochastic_debug.csv")
    (kernel,) = result.kernels
    assert value(kernel, "PC Samples") == 97
    assert value(kernel, "PC Samples, issued") == pytest.approx(100 * 20 / 97)
    assert value(kernel, "PC Samples, WAITCNT") == pytest.approx(100 * 71 / 97)
    assert value(kernel, "PC Samples, ALU_DEPENDENCY") == pytest.approx(100 * 5 / 97)
    assert "PC Samples, OTHER_WAIT" not in kernel.metrics, "all samples with this reason were issued"
    assert "Waves wait for loads from memory" in result.diagnosis[0].finding
    assert "62 of 97 stochastic samples (64%, 95 % interval 54% to 73%)" in result.diagnosis[0].because


@recorded
def test_host_trap_samples_of_a_real_gpu_count_where_waves_stand() -> None:
    result = import_recording(SAMPLES / "pc_sampling_host_trap.csv")
    assert value(result.kernels[0], "PC Samples") == 79
    assert sum(hot.recorded.samples or 0 for hot in result.kernels[0].hot_instructions) == 79
    assert "may lie two instructions off" in result.diagnosis[0].because
    assert any("compile with -g" in warning for warning in result.warnings)


def test_the_trace_of_the_same_process_names_the_kernels(tmp_path: Path) -> None:
    samples_csv(tmp_path / "9_pc_sampling_stochastic.csv", [(1, WAIT, "", "WAITCNT")] * 3 + [(2, LOAD, "", "")])
    write(tmp_path / "9_kernel_trace.csv", TRACE + "1,first,64,1000,91000\n2,second,64,100000,150000\n")
    write(tmp_path / "8_kernel_trace.csv", TRACE + "1,of another process,64,1000,91000\n")
    kernels = {kernel.name: kernel for kernel in import_recording(tmp_path).kernels}
    assert value(kernels["first"], "PC Samples") == 3
    assert value(kernels["first"], "Kernel Time") == 90_000
    assert value(kernels["second"], "PC Samples") == 1
    assert "PC Samples" not in kernels["of another process"].metrics


def test_samples_without_a_trace_are_of_a_kernel_without_a_name(tmp_path: Path) -> None:
    result = import_recording(samples_csv(tmp_path / "9_pc_sampling_stochastic.csv", [(1, WAIT, "", "WAITCNT")]))
    assert result.kernels[0].name == "(kernel not named)"
    assert any("--kernel-trace" in warning for warning in result.warnings)
    assert any("1 samples are too few" in warning for warning in result.warnings)
    assert not [found for found in result.diagnosis if "Waves" in found.finding]


def test_json_with_blanks_in_its_keys_has_names_lines_and_reasons(tmp_path: Path) -> None:
    path = samples_json(tmp_path / "9_results.json", [(7, 1, "WAITCNT")] * 80 + [(7, 2, "")] * 20)
    result = import_recording(path, gpu="MI300X")
    (kernel,) = result.kernels
    assert kernel.name == "copy(float*)"
    assert value(kernel, "PC Samples, WAITCNT") == 80
    hottest = kernel.hot_lines[0]
    assert (hottest.file, hottest.line, hottest.share) == ("/src/copy.hip", 5, 0.8)
    assert hottest.active_lanes == 64
    assert hottest.recorded is not None
    assert hottest.recorded.reasons == {"WAITCNT": 80}
    assert result.diagnosis[0].places == ["/src/copy.hip:5"]


def test_the_same_samples_as_csv_and_json_are_counted_once(tmp_path: Path) -> None:
    samples_json(tmp_path / "9_results.json", [(7, 1, "WAITCNT")] * 10)
    samples_csv(tmp_path / "9_pc_sampling_stochastic.csv", [(7, *LOOP[1][:2], "WAITCNT")] * 10)
    result = import_recording(tmp_path)
    assert [value(kernel, "PC Samples") for kernel in result.kernels] == [10]
    assert "9_results.json has the same samples" in "\n".join(result.warnings)


def test_one_process_that_is_not_in_a_list_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "r.json", {"rocprofiler-sdk-tool": samples_process([(7, 1, "WAITCNT")])})
    assert value(import_recording(path).kernels[0], "PC Samples") == 1


def test_an_index_beyond_the_instructions_is_an_instruction_that_was_not_decoded(tmp_path: Path) -> None:
    path = samples_json(tmp_path / "r.json", [(7, 99, "WAITCNT"), (7, -1, "")])
    assert {hot.instruction for hot in import_recording(path).kernels[0].hot_instructions} == {"(not decoded)"}


def test_a_reason_that_nobody_documents_is_another_wait(tmp_path: Path) -> None:
    path = samples_csv(tmp_path / "s.csv", [(1, WAIT, "", "\x1b[31mWHIM")])
    assert value(import_recording(path).kernels[0], "PC Samples, OTHER_WAIT") == 100


@pytest.mark.parametrize(
    ("column", "cell", "why"),
    [
        ("Exec_Mask", "many", "not a mask"),
        ("Exec_Mask", "9" * 5000, "not a mask"),
        ("Dispatch_Id", "9" * 300, "64 bits"),
        ("Dispatch_Id", "", "without a dispatch"),
        ("Wave_Issued_Instruction", "perhaps", "not a number"),
    ],
)
def test_a_damaged_sample_is_refused_with_its_line(tmp_path: Path, column: str, cell: str, why: str) -> None:
    names = ["Sample_Timestamp", "Exec_Mask", "Dispatch_Id", "Instruction", "Wave_Issued_Instruction"]
    row = dict(zip(names, ["1", "1", "1", "s_nop", "0"], strict=True)) | {column: cell}
    path = write(tmp_path / "s.csv", f"{','.join(names)}\n{','.join(row.values())}\n")
    with pytest.raises(ProfileFileError, match=why) as refused:
        import_recording(path)
    assert refused.value.line == 2


@pytest.mark.parametrize(
    "record",
    [
        {"pc": 5},
        {"pc": {"code_object_id": -1, "code_object_offset": 0}, "dispatch_id": 1},
        {"pc": {"code_object_id": 1, "code_object_offset": 10**40}, "dispatch_id": 1},
        {"pc": {"code_object_id": 1, "code_object_offset": 0}, "dispatch_id": 1, "exec_mask": -1},
        {"pc": {"code_object_id": 1, "code_object_offset": 0}, "dispatch_id": 1, "exec_mask": 10**300},
        {"pc": {"code_object_id": 1, "code_object_offset": 0}, "dispatch_id": [], "snapshot": []},
        "record",
    ],
)
def test_a_damaged_record_is_refused(tmp_path: Path, record: object) -> None:
    tool = samples_process([])
    tool["buffer_records"]["pc_sample_stochastic"] = [{"record": record, "inst_index": 0}]
    with pytest.raises(ProfileFileError, match="not as rocprofv3 writes it"):
        import_recording(write(tmp_path / "r.json", {"rocprofiler-sdk-tool": [tool]}))


def test_host_trap_records_in_either_part_of_json_have_no_reasons(tmp_path: Path) -> None:
    record = {"pc": {"code_object_id": 3, "code_object_offset": 8}, "dispatch_id": 7, "exec_mask": 255}
    nested, flat = {"record": record, "inst_index": 1}, record | {"inst_index": 1}
    tool = samples_process([])
    tool["buffer_records"]["pc_sample_host_trap"] = [nested] * 60
    tool["callback_records"]["pc_sample_host_trap"] = [flat] * 40
    result = import_recording(write(tmp_path / "r.json", {"rocprofiler-sdk-tool": [tool]}), gpu="MI210")
    (kernel,) = result.kernels
    assert value(kernel, "PC Samples") == 100
    assert "PC Samples, issued" not in kernel.metrics
    assert kernel.hot_lines[0].active_lanes == 8
    assert "100 of 100 host-trap samples" in result.diagnosis[0].because
    assert any("two instructions off" in warning for warning in result.warnings)


def test_samples_of_a_memory_bound_kernel_do_not_ask_for_more_loads_in_flight(tmp_path: Path) -> None:
    rows = {"TCC_EA0_RDREQ_sum": 8_000_000, "TCC_EA0_RDREQ_32B_sum": 0, "TCC_BUBBLE_sum": 0, "TCC_EA0_WRREQ_sum": 0,
            "TCC_EA0_WRREQ_64B_sum": 0, "SQ_ACTIVE_INST_VALU": 1000, "GRBM_GUI_ACTIVE": 1_680_000}  # fmt: skip
    head = "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp"
    counted = [f"1,copy(float*),{name},{number},1000,101000" for name, number in rows.items()]
    write(tmp_path / "1_counter_collection.csv", "\n".join([head, *counted]) + "\n")
    samples_csv(tmp_path / "2_pc_sampling_stochastic.csv", [(1, WAIT, "a.hip:3", "WAITCNT")] * 90)
    write(tmp_path / "2_kernel_trace.csv", TRACE + "1,copy(float*),64,1000,101000\n")
    result = import_recording(tmp_path, gpu="MI300X")
    assert result.kernels[0].bound == "memory"
    bound, waits = result.diagnosis
    assert "bound by memory bandwidth" in bound.finding
    assert "move fewer bytes" in waits.try_
