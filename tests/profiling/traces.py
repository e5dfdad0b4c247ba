"""Small thread traces and PC samples for tests, written after the documented formats.

Thread traces: rocprofiler-sdk, "Using thread trace" (stats CSV), and its att-tool (code.cpp, filenames.cpp, wave.cpp).
PC samples: rocprofiler-sdk, "Using PC sampling" (columns of CSV, records of JSON).
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

HEADER = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
SAMPLED = [name.strip() for name in HEADER.split(",")] + ["PC_Issued", "PC_Stalled", "Stall_Reasons"]
LOOP: tuple[tuple[str, str, int, int, int, int], ...] = (
    ("global_load_dwordx4 v[0:3], v[8:9], off", "/src/copy.hip:4", 100, 800, 400, 0),
    ("s_waitcnt vmcnt(0)", "/src/copy.hip:5", 100, 7000, 6600, 100),
    ("v_fma_f32 v4, v0, v1, v4", "/opt/rocm/include/hip/amd_detail/math.h:9 -> /src/copy.hip:6", 100, 400, 0, 600),
    ("s_barrier", "", 100, 1000, 900, 100),
)
"""Text, source, hits, latency, stall, idle: 10,000 cycles, 7,100 of them for loads and 1,100 at a barrier."""
REASON = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_"


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def code_json(folder: Path, *, name: str = "copy(float*)", header: object = HEADER) -> Path:
    """A code.json of one kernel with LOOP."""
    rows: list[list[Any]] = [["; _Z4copyPf", 0, 0, name, 3, 4096, 0, 0, 0, 0]]
    for number, (text, source, *numbers) in enumerate(LOOP):
        rows.append([text, 0, number + 1, source, 3, 4096 + 8 * number, *numbers])
    return write(folder / "code.json", {"code": rows, "header": header, "version": "3.0.0"})


def stats_csv(path: Path) -> Path:
    """The statistics of the same kernel."""
    rows = ['"CodeObj","Vaddr","Instruction","Hitcount","Latency","Stall","Idle","Source"']
    rows.append('3,4096,"; _Z4copyPf",0,0,0,0,"copy(float*)"')
    for number, (text, source, *numbers) in enumerate(LOOP):
        rows.append(f'3,{4096 + 8 * number},"{text}",{",".join(map(str, numbers))},"{source}"')
    return write(path, "\n".join(rows) + "\n")


def samples_csv(path: Path, samples: Iterable[tuple[int, str, str, str]]) -> Path:
    """Stochastic samples: dispatch, instruction, source, reason; an empty reason is an issued instruction."""
    rows = [
        "Sample_Timestamp,Exec_Mask,Dispatch_Id,Instruction,Instruction_Comment,Correlation_Id,"
        "Wave_Issued_Instruction,Instruction_Type,Stall_Reason,Wave_Count"
    ]
    for at, (dispatch, text, source, reason) in enumerate(samples):
        why = REASON + (reason or "OTHER_WAIT")
        rows.append(f'{at},65535,{dispatch},"{text}","{source}",{dispatch},{int(not reason)},TYPE_VALU,{why},4')
    return write(path, "\n".join(rows) + "\n")


def samples_json(path: Path, samples: Sequence[tuple[int, int, str]], **more: Any) -> Path:
    """Stochastic samples of rocprofv3's JSON: dispatch, index of LOOP, reason; keys with a blank at the end."""
    return write(path, {"rocprofiler-sdk-tool": [samples_process(samples, **more)]})


def samples_process(samples: Sequence[tuple[int, int, str]], **more: Any) -> dict[str, Any]:
    info = {"dispatch_id": 7, "kernel_id": 2, "agent_id": {"handle": 1}}
    size = {"x": 64, "y": 1, "z": 1}
    info |= {"grid_size": size, "workgroup_size": size}
    return {
        "agents": [{"id": {"handle": 1}, "name": "gfx942", "cu_count": 304}],
        "kernel_symbols": [{"kernel_id": 2, "formatted_kernel_name": "copy(float*)", "code_object_id": 3}],
        "strings": {
            "pc_sample_instructions": [row[0] for row in LOOP],
            "pc_sample_comments": [row[1] for row in LOOP],
            "att_filenames": [],
        },
        "callback_records": {"counter_collection": []},
        "buffer_records": {
            "kernel_dispatch": [{"dispatch_info": info, "start_timestamp": 1000, "end_timestamp": 51_000}],
            "pc_sample_host_trap": [],
            "pc_sample_stochastic": [_record(*sample) for sample in samples],
        },
        **more,
    }


def _record(dispatch: int, index: int, reason: str) -> dict[str, Any]:
    return {
        "inst_index": index,
        "record": {
            "hw_id": {"chiplet": 0, "wave_id ": 0, "simd_id": 2, "shader_engine_id": 1, "workgroup_id ": 0},
            "pc ": {"code_object_id": 3, "code_object_offset": 4096 + 8 * index},
            "exec_mask": 2**64 - 1,
            "dispatch_id": dispatch,
            "wave_issued ": int(not reason),
            "snapshot": {"stall_reason": REASON + (reason or "NONE"), "arb_state_issue_valu": 0},
        },
    }
