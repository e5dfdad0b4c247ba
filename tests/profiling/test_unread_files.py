"""Files that are not recordings of kernels: a refusal says what they are, a folder names them."""

import json
from pathlib import Path

import pytest

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.read import read_recording

COUNTERS = "Dispatch_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp"
TRACE = "Kernel_Name,Workgroup_Size_X,Start_Timestamp,End_Timestamp"
SAMPLES = "Sample_Timestamp,Exec_Mask,Dispatch_Id,Instruction,Instruction_Comment,Correlation_Id\n1,1,1,s_nop,,1\n"
DOMAINS = 'Name,Calls,TotalDurationNs\n"KERNEL_DISPATCH",3,1000\n"MEMORY_COPY",1,50\n'
CODE = {"code": [], "header": ["ISA", "Vaddr"]}


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def counters(folder: Path, launches: int) -> Path:
    rows = [f"{n},k,SQ_WAVES,8,1000,{91_000}" for n in range(1, launches + 1)]
    return write(folder / "a_counter_collection.csv", COUNTERS, *rows)


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("se0_sm0_sl0_wv0.json", json.dumps({"wave": {}, "duration": 5}), "a wave of a thread trace"),
        ("filenames.json", json.dumps({"wave_filenames": {}}), "the file list of a thread trace"),
        ("hip_domain_stats.csv", DOMAINS, "domains"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_what_it_is(tmp_path: Path, name: str, text: str, what: str) -> None:
    with pytest.raises(ProfileFileError, match=what):
        read_recording(write(tmp_path / name, text))


def test_a_folder_names_each_file_that_was_not_used_and_why(tmp_path: Path) -> None:
    counters(tmp_path, 1)
    write(tmp_path / "pc_sampling.csv", SAMPLES.splitlines()[0])
    write(tmp_path / "x_domain_stats.csv", DOMAINS)
    write(tmp_path / "code.json", json.dumps(CODE))
    warnings = "\n".join(read_recording(tmp_path).warnings)
    assert "pc_sampling.csv was not used: the file has a header but no row" in warnings
    assert "x_domain_stats.csv was not used: statistics of domains" in warnings
    assert "code.json was not used: the thread trace has no instruction" in warnings


def test_times_of_the_run_with_counters_are_not_mixed_with_those_of_the_trace(tmp_path: Path) -> None:
    counters(tmp_path, 2)
    write(tmp_path / "a_kernel_trace.csv", TRACE, "k,64,1000,21000")
    recording = read_recording(tmp_path)
    assert [dispatch.duration_ns for dispatch in recording.dispatches] == [20_000, None]
    assert not any(one.duration_ns for one in recording.dispatches[1].passes)
    assert "the trace lacks 1 launch that the counters have" in recording.warnings
