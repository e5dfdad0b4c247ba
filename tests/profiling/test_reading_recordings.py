"""Every format and every era is read; what is none is refused with the file, the line and the remedy."""

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.import_recording import import_recording
from amdkernel_mcp.profiling.readers import csv_table
from amdkernel_mcp.profiling.readers.read import read_recording
from tests.profiling.traces import LOOP, code_json, samples_csv, samples_process, stats_csv

RECORDINGS = Path(__file__).parent / "recordings"
V3 = RECORDINGS / "rocprofv3"
START = 13_000_000_000_000_001  # beyond 2^53: a float would round it
HEADER = (
    "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,Kernel_Name,"
    "Workgroup_Size,LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,Counter_Name,Counter_Value,"
    "Start_Timestamp,End_Timestamp"
)


def counted(path: Path, counters: dict[str, float], *, took: int = 40_000, pid: int = 1, header: str = HEADER) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        f'1,{n},"Agent 4",1,{pid},1,1024,7,"k(float*) [clone .kd]",64,0,0,8,0,16,{name},{value},{START},{START + took}'
        for n in (1, 2)
        for name, value in counters.items()
    ]
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_counters_of_rocm_7_are_read():
    result = import_recording(V3 / "counter_collection.csv")
    kernel = next(kernel for kernel in result.kernels if kernel.name.startswith("divide"))
    assert kernel.metrics["SQ_WAVES"].value == 16384
    assert kernel.metrics["Kernel Time"].value == 3200098838927550 - 3200098838879399


def test_counters_of_rocm_6_2_have_no_times_and_none_are_made_up():
    result = import_recording(V3 / "kernel_names.csv")
    assert result.kernels[0].metrics["SQ_WAVES"].value == 16384
    assert result.kernels[0].metrics["Kernel Time"].evidence == "not_measured"


def test_the_processes_of_a_run_are_read_in_their_order(tmp_path: Path):
    for run, pids, name in (("pass_1", (99, 100), "SQ_WAVES"), ("pass_2", (101, 102), "SQ_INSTS")):
        for case, pid in enumerate(pids):
            counted(tmp_path / run / f"out_{pid}_counter_collection.csv", {name: case}, pid=pid)
    found = read_recording(tmp_path).dispatches
    of_a_case = [{**dispatch.passes[0].counters, **dispatch.passes[1].counters} for dispatch in found]
    assert of_a_case == [{"SQ_WAVES": case, "SQ_INSTS": case} for case in (0, 0, 1, 1)]


@pytest.mark.parametrize("name", ["kernel_trace.csv", "kernel_trace_truncated.csv"])
def test_a_trace_gives_times(name):
    result = import_recording(V3 / name)
    assert all(kernel.metrics["Kernel Time"].value > 0 for kernel in result.kernels)
    with (V3 / name).open() as stream:
        rows = list(csv.DictReader(stream))
    total = sum(int(row["End_Timestamp"]) - int(row["Start_Timestamp"]) for row in rows)
    assert sum(kernel.metrics["Total Time"].value for kernel in result.kernels) == total


def test_a_folder_joins_counters_and_trace():
    assert "counters and trace" in import_recording(V3).reason


def test_headers_in_another_case_are_the_same_columns(tmp_path):
    rocpd = counted(tmp_path / "a.csv", {"SQ_WAVES": 5}, header=HEADER.upper())
    assert import_recording(rocpd).kernels[0].metrics["SQ_WAVES"].value == 5


def test_times_beyond_2_to_the_53_lose_no_nanosecond(tmp_path):
    path = counted(tmp_path / "a.csv", {"SQ_WAVES": 5}, took=33_333)
    assert import_recording(path).kernels[0].metrics["Kernel Time"].value == 33_333


def test_passes_are_joined_and_each_keeps_its_own_denominator(tmp_path):
    cus = 304
    counted(tmp_path / "pass_1" / "1_counter_collection.csv",
            {"GRBM_GUI_ACTIVE": 8e6, "SQ_ACTIVE_INST_VALU": 1e6 * cus * 0.1}, pid=10)  # fmt: skip
    counted(tmp_path / "pass_2" / "2_counter_collection.csv",
            {"GRBM_GUI_ACTIVE": 4e6, "SQ_ACTIVE_INST_SCA": 0.5e6 * cus * 0.4}, pid=11)  # fmt: skip
    kernel = import_recording(tmp_path, gpu="MI300X").kernels[0]
    assert kernel.dispatches == 2
    assert kernel.metrics["VALU Utilization"].value == pytest.approx(10)
    assert kernel.metrics["SALU Utilization"].value == pytest.approx(40)


def test_a_ratio_over_two_passes_is_marked(tmp_path):
    counted(tmp_path / "pass_1" / "c.csv", {"SQ_INSTS": 100})
    counted(tmp_path / "pass_2" / "c.csv", {"SQ_BUSY_CU_CYCLES": 50})
    ipc = import_recording(tmp_path, gpu="MI300X").kernels[0].metrics["IPC"]
    assert ipc.value == 2
    assert "different passes" in ipc.note


def test_processes_with_the_same_counters_are_more_dispatches(tmp_path):
    counted(tmp_path / "100_counter_collection.csv", {"SQ_WAVES": 1}, pid=100)
    counted(tmp_path / "101_counter_collection.csv", {"SQ_WAVES": 3}, pid=101)
    kernel = import_recording(tmp_path).kernels[0]
    assert kernel.dispatches == 4
    assert kernel.metrics["SQ_WAVES"].value == 2


def test_one_dispatch_with_several_passes_in_one_file_keeps_them_apart(tmp_path):
    rows = [
        f'1,1,"Agent 4",1,1,1,1024,7,k,64,0,0,8,0,16,{name},{value},{start},{start + 40_000}'
        for start, name, value in (
            (START, "GRBM_GUI_ACTIVE", 8e5), (START, "SQ_ACTIVE_INST_VALU", 304e4),
            (START + 10**6, "GRBM_GUI_ACTIVE", 16e5), (START + 10**6, "SQ_ACTIVE_INST_SCA", 304e4),
        )
    ]  # fmt: skip
    path = tmp_path / "a.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    found = import_recording(path, gpu="MI300X").kernels[0].metrics
    assert found["VALU Utilization"].value == pytest.approx(10)
    assert found["SALU Utilization"].value == pytest.approx(5)


@pytest.mark.parametrize(
    ("start", "end", "took"),
    [("0386.5", "0486.5", 100), ("0386.4", "0486.5", 101), ("0386.0", "0386.49", None), ("0386", "0387.25", 1)],
)
def test_means_over_passes_are_rounded_to_whole_nanoseconds(tmp_path, start, end, took):
    """rocprof-compute averages the timestamps of the passes that it merges."""
    path = tmp_path / "pmc_perf.csv"
    header = "Dispatch_ID,GPU_ID,Kernel_Name,Grid_Size,Workgroup_Size,SQ_WAVES,Start_Timestamp,End_Timestamp"
    path.write_text(f"{header}\n0,2,k,1024,64,16,320009883892{start},320009883892{end}\n")
    (tmp_path / "sysinfo.csv").write_text("gpu_model,gpu_arch,cu_per_gpu,num_xcd\nMI300X,gfx942,304,8\n")
    assert read_recording(tmp_path).dispatches[0].passes[0].duration_ns == took


def test_a_part_that_is_not_known_has_no_percentages_but_ratios(tmp_path):
    counted(tmp_path / "1_counter_collection.csv", {"TCC_HIT_sum": 3, "TCC_MISS_sum": 1, "GRBM_GUI_ACTIVE": 9})
    (tmp_path / "1_agent_info.csv").write_text(
        '"Node_Id","Agent_Type","Cu_Count","Num_Xcc","Name","Product_Name"\n'
        '0,"CPU",0,0,"EPYC",""\n2,"GPU",120,4,"gfx942","AMD Instinct MI399X"\n'
    )
    result = import_recording(tmp_path)
    found = result.kernels[0].metrics
    assert found["L2 Cache Hit Rate"].value == 75
    assert found["VALU Utilization"].value is found["GUI_ACTIVE per XCD at max_sclk"].value is None
    assert any("120 CUs" in warning for warning in result.warnings)


def test_a_workload_folder_in_the_long_layout_is_read(tmp_path):
    header = (
        "Dispatch_ID,GPU_ID,Kernel_Name,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,"
        "Accum_VGPR,SGPR,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp"
    )
    times = (("TCC_HIT_sum", 1, 90), ("TCC_REQ_sum", 2, 100), ("TCC_MISS_sum", 3, 110))
    rows = [f"0,2,k,1024,64,512,0,8,0,16,{name},1000,{START * n},{START * n + took}" for name, n, took in times]
    (tmp_path / "pmc_perf.csv").write_text("\n".join([header, *rows]) + "\n")
    (tmp_path / "sysinfo.csv").write_text("gpu_model,gpu_arch,cu_per_gpu,num_xcd\nMI350,gfx950,128,8\n")
    result = import_recording(tmp_path)
    found = result.kernels[0].metrics
    assert found["Kernel Time"].value == 100
    assert found["L2 Cache BW"].value == pytest.approx(128 * 1000 / 100)
    assert found["LDS"].value == 512
    assert any("says 128 CUs" in warning for warning in result.warnings), "and 256 are used"


def test_rdna_counters_have_their_own_formulas(tmp_path):
    path = counted(tmp_path / "a.csv", {"GL2C_HIT_sum": 3.5, "GL2C_HIT": 3, "GL2C_MISS_sum": 1})
    found = import_recording(path, gpu="gfx1151").kernels[0].metrics
    assert found["L2 Cache Hit Rate"].value == 75


def test_a_counter_that_is_absent_is_never_zero(tmp_path):
    found = import_recording(counted(tmp_path / "a.csv", {"SQ_WAVES": 5}), gpu="MI300X").kernels[0].metrics
    assert found["L2 Cache Hit Rate"].value is None
    assert found["SQ_WAVES"].value == 5


def test_gfx950_reads_are_not_computed_from_a_bubble_of_zero(tmp_path):
    old = {"TCC_BUBBLE_sum": 0, "TCC_EA0_RDREQ_sum": 1e6, "TCC_EA0_RDREQ_32B_sum": 0}
    found = import_recording(counted(tmp_path / "old.csv", old), gpu="MI350X").kernels[0].metrics
    assert found["L2-Fabric Read BW"].value is None
    new = {"TCC_EA0_RDREQ_32B_sum": 0, "TCC_EA0_RDREQ_64B_sum": 0, "TCC_EA0_RDREQ_128B_sum": 1e6}
    found = import_recording(counted(tmp_path / "new.csv", new), gpu="MI350X").kernels[0].metrics
    assert found["L2-Fabric Read BW"].value == pytest.approx(128e6 / 40_000)


def test_more_than_the_memory_can_do_is_called_cache_traffic(tmp_path):
    much = {"TCC_EA_RDREQ_sum": 4e6, "TCC_EA_RDREQ_32B_sum": 0, "TCC_EA_WRREQ_sum": 0, "TCC_EA_WRREQ_64B_sum": 0}
    kernel = import_recording(counted(tmp_path / "a.csv", much), gpu="MI210").kernels[0]
    assert "cache traffic" in kernel.metrics["HBM read+write, % of peak"].note
    assert kernel.bound is None


def test_a_kernel_at_the_memory_roof_is_called_so(tmp_path):
    counters = {
        "TCC_EA_RDREQ_sum": 800_000, "TCC_EA_RDREQ_32B_sum": 0, "TCC_EA_WRREQ_sum": 0, "TCC_EA_WRREQ_64B_sum": 0,
        "GRBM_GUI_ACTIVE": 68_000, "SQ_ACTIVE_INST_VALU": 68_000 * 104 * 0.1,
    }  # fmt: skip
    result = import_recording(counted(tmp_path / "a.csv", counters), gpu="MI210")
    assert result.kernels[0].bound == "memory", result.diagnosis
    assert "HBM read+write" in result.diagnosis[0].because


def test_statistics_alone_give_times(tmp_path):
    path = tmp_path / "out_kernel_stats.csv"
    path.write_text('"Name","Calls","TotalDurationNs","AverageNs","Percentage"\n"k",4,1000,250,100\n')
    assert import_recording(path).kernels[0].metrics["Kernel Time"].value == 250


def test_rocprof_v1_is_read(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text(
        "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,sgpr,wave_size,sig,"
        "obj,SQ_WAVES,TCC_HIT[0],TCC_HIT[1],DispatchNs,BeginNs,EndNs,CompleteNs\n"
        f'0,"k.kd",2,0,0,1,1,1024,256,0,0,8,8,16,64,0x0,0x7e,16,3,4,1,{START},{START + 500},9\n'
    )
    dispatch = read_recording(path).dispatches[0]
    assert (dispatch.kernel, dispatch.duration_ns, dispatch.shape.workgroup_items) == ("k", 500, 256)
    assert dispatch.passes[0].counters == {"SQ_WAVES": 16, "TCC_HIT_sum": 7}


def document(**more: object) -> dict[str, object]:
    info = {
        "agent_id": {"handle": 3}, "kernel_id": 9, "dispatch_id": 1, "private_segment_size": 0,
        "group_segment_size": 0, "workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 640, "y": 1, "z": 1},
    }  # fmt: skip
    timed = {"start_timestamp": START, "end_timestamp": START + 21_000, "dispatch_info": info}
    counted = {"dispatch_data": {"dispatch_info": info}, "records": [{"counter_id": {"handle": 5}, "value": 10.0}]}
    return {
        "agents": [{"id": {"handle": 3}, "name": "gfx942", "product_name": "AMD Instinct MI300X", "cu_count": 304}],
        "counters": [{"id": {"handle": 5}, "name": "SQ_WAVES"}],
        "kernel_symbols": [{"kernel_id": 9, "formatted_kernel_name": "k", "arch_vgpr_count": 8}],
        "buffer_records": {"kernel_dispatch": [timed]},
        "callback_records": {"counter_collection": [counted]},
        **more,
    }


def test_json_is_joined_with_its_tables(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [document()]}))
    result = import_recording(path)
    assert "MI300X" in result.reason
    assert result.kernels[0].metrics["SQ_WAVES"].value == 10
    assert result.kernels[0].metrics["Kernel Time"].value == 21_000


def test_rocpd_is_read_through_its_views_and_a_lost_dispatch_is_reported(tmp_path):
    path = tmp_path / "results.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE kernels (guid, dispatch_id, name, start, end, grid_x, grid_y, grid_z, workgroup_x, "
            "workgroup_y, workgroup_z, lds_size, scratch_size, vgpr_count, accum_vgpr_count, sgpr_count)"
        )
        database.execute(f"INSERT INTO kernels VALUES ('g',1,'k',{START},{START + 900},64,1,1,64,1,1,0,0,8,0,16)")
        database.execute("CREATE TABLE rocpd_kernel_dispatch (id)")
        database.executemany("INSERT INTO rocpd_kernel_dispatch VALUES (?)", [(1,), (2,)])
        database.execute(
            "CREATE TABLE counters_collection (guid, dispatch_id, kernel_name, start, end, grid_size, workgroup_size, "
            "lds_block_size, scratch_size, vgpr_count, accum_vgpr_count, sgpr_count, counter_name, value)"
        )
        for start, name in ((START, "SQ_WAVES"), (START + 5000, "SQ_INSTS")):
            row = f"('g',1,'k',{start},{start + 1000},64,64,0,0,8,0,16,'{name}',7)"
            database.execute(f"INSERT INTO counters_collection VALUES {row}")
    database.close()
    recording = read_recording(path)
    assert recording.dispatches[0].duration_ns == 900
    assert any("1 dispatches" in warning for warning in recording.warnings)


@pytest.mark.parametrize(
    ("content", "message", "line"),
    [
        (b"", "empty", None),
        (b"\x00\x01\x02\xff" * 50, "binary", None),
        (b"a,\xff\xfe\n" * 3, "UTF-8", 1),
        (b"a,b\n1,2\n", "not a recording of kernels", 1),
        (HEADER.encode() + b"\n", "no row", 1),
        (HEADER.replace(",Counter_Value", "").encode() + b"\n" + b"1," * 17 + b"1\n", "Counter_Value", 1),
        (HEADER.encode() + b"\n1,2,3\n", "cells", 2),
        (HEADER.encode() + b'\n1,1,1,1,1,1,64,7,k,64,0,0,8,0,16,SQ_WAVES,many,1,2\n', "not a number", 2),
        (HEADER.encode() + b'\n1,1,1,1,1,1,64,7,k,64,0,0,8,0,16,SQ_WAVES,5,8.1097E+14,8.1097E+14\n', "spreadsheet", 2),
        (HEADER.encode() + b'\n1,1,1,1,1,1,64,7,k,64,0,0,8,0,16,SQ_WAVES,5,9,3\n', "before the start", 2),
        (b'{"rocprofiler-sdk-tool": [{"agents": 3', "not JSON", 1),
        (b'{"rocprofiler-sdk-tool": [{"agents": 3}]}', "not as rocprofv3 writes it", None),
        (b'{"traceEvents": []}', "rocprofiler-sdk-tool", None),
        (b"SQLite format 3\0" + b"\x07" * 200, "database", None),
    ],
)  # fmt: skip
def test_what_is_not_a_recording_is_refused(tmp_path, content, message, line):
    path = tmp_path / "x_counter_collection.csv"
    path.write_bytes(content)
    with pytest.raises(ProfileFileError, match=message) as refused:
        import_recording(path)
    assert refused.value.file == str(path)
    assert refused.value.line == line


DAMAGE = [
    b"", b'"', b",", b"\n", b"\0", b"-1", b"NaN", b"1e400", b"9" * 5000, b"null", b"{}", b"\xff", b"8.1E+14",
    b"-1,", b"[[[[",
]  # fmt: skip


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused_but_never_breaks_the_reader(tmp_path, data):
    whole = {
        "c.csv": (V3 / "counter_collection.csv").read_bytes(),
        "t.csv": (V3 / "kernel_trace.csv").read_bytes(),
        "w.csv": (RECORDINGS / "vcopy" / "MI100" / "SQ_LEVEL_WAVES.csv").read_bytes(),
        "j.json": json.dumps({"rocprofiler-sdk-tool": [document()]}).encode(),
        "s.csv": samples_csv(tmp_path / "whole_samples.csv", [(1, *LOOP[0][:2], "WAITCNT")] * 9).read_bytes(),
        "p.json": json.dumps({"rocprofiler-sdk-tool": [samples_process([(7, 1, "WAITCNT")])]}).encode(),
        "code.json": code_json(tmp_path / "whole").read_bytes(),
        "stats.csv": stats_csv(tmp_path / "whole" / "stats.csv").read_bytes(),
    }
    name = data.draw(st.sampled_from(sorted(whole)))
    at = data.draw(st.integers(0, len(whole[name])))
    cut = data.draw(st.sampled_from([0, 1, 3, 40, 10_000]))
    damaged = whole[name][:at] + data.draw(st.sampled_from(DAMAGE)) + whole[name][at + cut :]
    (tmp_path / name).write_bytes(damaged)
    try:
        answer: str | None = import_recording(tmp_path / name, gpu="MI300X").model_dump_json()
    except ProfileFileError as refused:
        answer = refused.file
    assert answer


def test_a_duration_of_zero_is_no_duration(tmp_path):
    path = counted(tmp_path / "a.csv", {"TCC_REQ_sum": 5}, took=0)
    found = import_recording(path, gpu="MI300X").kernels[0].metrics
    assert found["L2 Cache BW"].value is None, "and not infinite"


def test_api_statistics_are_not_kernels():
    with pytest.raises(ProfileFileError, match="API calls"):
        import_recording(V3 / "hip_api_stats.csv")
    with pytest.raises(ProfileFileError, match="not a recording"):
        import_recording(V3 / "hip_runtime_trace.csv")


def test_a_folder_with_nothing_and_a_path_with_nothing_are_distinguished(tmp_path):
    with pytest.raises(ProfileFileError, match="has no"):
        import_recording(tmp_path)
    with pytest.raises(ProfileFileError, match="no such"):
        import_recording(tmp_path / "nothing")


def test_a_file_that_is_too_large_is_not_read(monkeypatch):
    monkeypatch.setattr(csv_table, "LARGEST_BYTES", 100)
    with pytest.raises(ProfileFileError, match="MiB") as refused:
        import_recording(V3 / "kernel_trace.csv")
    assert "--kernel-" in refused.value.hint


def test_files_of_children_without_kernels_do_not_matter(tmp_path):
    counted(tmp_path / "1_counter_collection.csv", {"SQ_WAVES": 5})
    (tmp_path / "2_counter_collection.csv").write_text(HEADER + "\n")
    assert import_recording(tmp_path).kernels[0].dispatches == 2


def test_a_kernel_without_a_name_in_rocpd_is_read(tmp_path):
    path = tmp_path / "results.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE kernels (guid, dispatch_id, name, start, end, grid_x, grid_y, grid_z, workgroup_x, "
            "workgroup_y, workgroup_z, lds_size, scratch_size, vgpr_count, accum_vgpr_count, sgpr_count)"
        )
        database.execute(f"INSERT INTO kernels VALUES ('g',1,NULL,{START},{START + 900},64,1,1,64,1,1,0,0,8,0,16)")
    database.close()
    assert read_recording(path).dispatches[0].kernel == "(no name)"
