"""Thread traces of rocprofv3 are read into the profile: hot lines with their text, cycles, and what waves wait for."""

import json
from pathlib import Path

import pytest

from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.profiling.import_recording import import_recording
from amdkernel_mcp.profiling.rules.recorded import FIT
from tests.profiling.traces import HEADER, SAMPLED, code_json, stats_csv, write

SOURCE = "\n".join(f"line {number} of the copy" for number in range(1, 10))


def trace(folder: Path) -> Path:
    """A `ui_output` folder as rocprofv3 writes it, with a source file."""
    code_json(folder)
    write(folder / "source_0_copy.hip", SOURCE)
    write(folder / "snapshots.json", {"/": {"src": {"copy.hip": "source_0_copy.hip"}}})
    write(folder / "filenames.json", {"wave_filenames": {}, "gfxip": 9, "gfxv": "vega", "version": "3.0.0"})
    return folder


def test_a_trace_folder_names_the_kernel_its_hot_lines_and_their_text(tmp_path: Path) -> None:
    (kernel,) = import_recording(trace(tmp_path)).kernels
    assert kernel.name == "copy(float*)"
    hottest = kernel.hot_lines[0]
    assert (hottest.file, hottest.line, hottest.source) == ("/src/copy.hip", 5, "line 5 of the copy")
    assert hottest.share == pytest.approx(0.71)
    assert hottest.recorded is not None
    assert (hottest.recorded.latency_cycles, hottest.recorded.stall_cycles) == (7000, 6600)
    assert hottest.executions == 100


def test_an_inlined_header_of_hip_counts_for_the_line_that_calls_it(tmp_path: Path) -> None:
    (kernel,) = import_recording(trace(tmp_path)).kernels
    assert {(line.file, line.line) for line in kernel.hot_lines} == {("/src/copy.hip", n) for n in (4, 5, 6)}


def test_an_instruction_without_a_line_is_a_hot_instruction(tmp_path: Path) -> None:
    (kernel,) = import_recording(trace(tmp_path)).kernels
    barrier = next(hot for hot in kernel.hot_instructions if hot.instruction == "s_barrier")
    assert (barrier.file, barrier.line) == (None, None)
    assert barrier.share == pytest.approx(0.11)


def test_the_wait_is_a_finding_with_numbers_and_lines(tmp_path: Path) -> None:
    (found,) = import_recording(trace(tmp_path)).diagnosis
    assert "Waves wait for loads from memory" in found.finding
    assert "7,100 of 10,000 cycles of the traced waves (71%)" in found.because
    assert found.places == ["/src/copy.hip:5"]
    assert "issue these loads earlier" in found.try_


def test_the_statistics_say_the_same_as_code_json(tmp_path: Path) -> None:
    from_code = import_recording(code_json(tmp_path / "a")).kernels[0]
    from_stats = import_recording(stats_csv(tmp_path / "stats_ui_output_agent_1_dispatch_2.csv")).kernels[0]
    assert from_stats == from_code


def test_a_trace_that_is_there_as_json_and_csv_is_counted_once(tmp_path: Path) -> None:
    trace(tmp_path / "ui_output_agent_1_dispatch_2")
    stats_csv(tmp_path / "stats_ui_output_agent_1_dispatch_2.csv")
    result = import_recording(tmp_path)
    assert result.kernels[0].metrics["Thread Trace: Latency"].value == 9200
    assert "stats_ui_output_agent_1_dispatch_2.csv was not used: the code.json" in "\n".join(result.warnings)


def test_dispatches_of_a_kernel_are_added_up(tmp_path: Path) -> None:
    for dispatch in (1, 2, 3):
        code_json(tmp_path / f"ui_output_agent_1_dispatch_{dispatch}")
    (kernel,) = import_recording(tmp_path).kernels
    assert kernel.metrics["Thread Trace: Hits"].value == 1200


@pytest.mark.parametrize("header", [HEADER, [name.strip() for name in HEADER.split(",")], None])
def test_the_header_may_be_a_text_a_list_or_missing(tmp_path: Path, header: object) -> None:
    assert import_recording(code_json(tmp_path, header=header)).kernels[0].hot_lines[0].line == 5


def test_fields_are_found_by_the_header_and_not_by_position(tmp_path: Path) -> None:
    path = code_json(tmp_path)
    document = json.loads(path.read_text())
    document["code"] = [row[::-1] for row in document["code"]]
    document["header"] = [name.strip() for name in HEADER.split(",")][::-1]
    assert import_recording(write(path, document)).kernels[0].hot_lines[0].line == 5


def test_a_trace_joins_the_kernel_of_the_counters(tmp_path: Path) -> None:
    trace(tmp_path / "ui_output_agent_1_dispatch_2")
    write(
        tmp_path / "1_kernel_trace.csv",
        "Kernel_Name,Workgroup_Size_X,Start_Timestamp,End_Timestamp\ncopy(float*),64,1000,81000\n",
    )
    (kernel,) = import_recording(tmp_path).kernels
    assert kernel.metrics["Kernel Time"].value == 80_000
    assert kernel.hot_lines


def test_samples_in_the_viewers_form_have_reasons(tmp_path: Path) -> None:
    rows = [
        ["; _Z1kv", 0, 0, "k()", 1, 0, 0, 0, 0, 0, 0, 0, [0] * 10],
        ["s_barrier", 0, 1, "/src/k.hip:7", 1, 0, 0, 0, 0, 0, 10, 290, [0, 0, 0, 0, 0, 290, 0, 0, 0, 0]],
        ["v_add_f32 v0, v0, v1", 0, 2, "/src/k.hip:8", 1, 4, 0, 0, 0, 0, 90, 10, [0, 0, 10, 0, 0, 0, 0, 0, 0, 0]],
    ]
    result = import_recording(write(tmp_path / "code.json", {"code": rows, "header": SAMPLED}))
    assert result.kernels[0].metrics["PC Samples, BARRIER_WAIT"].value == pytest.approx(72.5)
    assert "Waves wait at barriers" in result.diagnosis[0].finding
    assert result.diagnosis[0].places == ["/src/k.hip:7"]


@pytest.mark.parametrize("code", [None, [], [["; _Z1kv", 0, 0, "k()", 1, 0, 0, 0, 0, 0]]])
def test_an_empty_trace_says_what_to_do(tmp_path: Path, code: object) -> None:
    with pytest.raises(ProfileFileError, match="no wave of the kernel ran on the traced CU") as refused:
        import_recording(write(tmp_path / "code.json", {"code": code, "header": HEADER}))
    assert refused.value.hint is not None
    assert "--att-target-cu" in refused.value.hint


def test_raw_traces_that_were_not_decoded_say_so(tmp_path: Path) -> None:
    write(tmp_path / "1_shader_engine_0_1.att", "raw")
    with pytest.raises(ProfileFileError, match="not decoded") as refused:
        import_recording(tmp_path)
    assert "librocprof-trace-decoder.so" in (refused.value.hint or "")


def test_json_that_only_lists_raw_traces_says_so_alone_and_beside_their_code(tmp_path: Path) -> None:
    tool = {"strings": {"att_filenames": ["a_0_1.att"], "code_object_snapshot_filenames": []}, "code_objects": []}
    path = write(tmp_path / "1_results.json", {"rocprofiler-sdk-tool": [tool]})
    with pytest.raises(ProfileFileError, match="only lists 1 raw file of a thread trace"):
        import_recording(path)
    trace(tmp_path / "ui_output_agent_1_dispatch_1")
    result = import_recording(tmp_path)
    assert result.kernels[0].hot_lines
    assert "1_results.json was not used: it only lists 1 raw file" in "\n".join(result.warnings)


def test_a_folder_of_thousands_of_waves_is_read_and_they_are_named(tmp_path: Path) -> None:
    trace(tmp_path)
    for number in range(3000):
        (tmp_path / f"se0_sm0_sl0_wv{number}.json").write_bytes(b"not even JSON")
    result = import_recording(tmp_path)
    assert result.kernels[0].hot_lines
    assert "and 2,994 more files like them were not used: a single wave" in "\n".join(result.warnings)


def test_the_path_of_the_file_list_opens_the_folder(tmp_path: Path) -> None:
    assert import_recording(trace(tmp_path) / "filenames.json").kernels[0].hot_lines[0].source


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/passwd", "link.hip", ".hidden", "", "."])
def test_no_file_outside_of_the_trace_is_opened(tmp_path: Path, name: str) -> None:
    folder = trace(tmp_path / "trace")
    write(tmp_path / "secret.txt", "secret\n" * 9)
    write(folder / ".hidden", "secret\n" * 9)
    (folder / "link.hip").symlink_to(tmp_path / "secret.txt")
    write(folder / "snapshots.json", {"/": {"src": {"copy.hip": name}}})
    assert not any(line.source for line in import_recording(folder).kernels[0].hot_lines)


def test_names_that_no_file_can_have_are_no_sources(tmp_path: Path) -> None:
    names = {"a": "x" * 5000, "b": "nul\0", "c": "\ud800", "d": "source_0_copy.hip"}
    write(trace(tmp_path) / "snapshots.json", {"/": names | {"src": {"copy.hip": "source_0_copy.hip"}}})
    assert import_recording(tmp_path).kernels[0].hot_lines[0].source == "line 5 of the copy"


def test_links_to_nothing_and_to_themselves_are_named(tmp_path: Path) -> None:
    trace(tmp_path)
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    warnings = "\n".join(import_recording(tmp_path).warnings)
    assert "gone.csv and loop.json were not used: not a file that can be read" in warnings


def test_a_header_without_instructions_is_refused(tmp_path: Path) -> None:
    for header in ({"a": 1}, 5, ["Hit"], "Hit, Latency"):
        with pytest.raises(ProfileFileError, match="no field ISA"):
            import_recording(code_json(tmp_path, header=header))


def test_code_without_a_header_and_a_version_is_refused_with_what_it_lacks(tmp_path: Path) -> None:
    path = write(tmp_path / "code.json", {"code": [["v_add_f32", 0, 1, "a.hip:3", 1, 16, 5, 50, 10, 0]]})
    with pytest.raises(ProfileFileError, match="`code` has no `header` that names its columns") as refused:
        import_recording(path)
    assert "ISA,_,LineNumber,Source,Codeobj,Vaddr,Hit,Latency,Stall,Idle" in str(refused.value.hint)


def test_names_and_sources_are_fit_to_print(tmp_path: Path) -> None:
    folder = trace(tmp_path)
    code_json(folder, name="copy\x1b[31m")
    write(folder / "source_0_copy.hip", SOURCE.replace("line", "\x1b[2Jline"))
    assert "\x1b" not in import_recording(folder).model_dump_json(ensure_ascii=False)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (["s_nop", 0, 1, "", 1, 0, -5, 1, 1, 1], "negative"),
        (["s_nop", 0, 1, "", 1, 0, 10**30, 1, 1, 1], "64 bits"),
        (["s_nop", 0, 1, "", 1, 0, "many", 1, 1, 1], "64 bits"),
        (["s_nop"], "row 0"),
        ("s_nop", "row 0"),
        ({}, "row 0"),
    ],
)
def test_a_damaged_row_is_refused_with_its_number(tmp_path: Path, row: object, why: str) -> None:
    with pytest.raises(ProfileFileError, match=why):
        import_recording(write(tmp_path / "code.json", {"code": [row], "header": HEADER}))


@pytest.mark.parametrize("tree", ["[" * 5000, "[]", '{"/": ' * 2000 + "1" + "}" * 2000, '{"a": 1}', "\x00"])
def test_a_damaged_list_of_sources_is_refused_or_has_no_source(tmp_path: Path, tree: str) -> None:
    write(trace(tmp_path) / "snapshots.json", tree)
    refusal, shown = "snapshots.json", ""
    try:
        shown = "".join(line.source for line in import_recording(tmp_path).kernels[0].hot_lines)
    except ProfileFileError as refused:
        refusal = refused.message
    assert "snapshots.json" in refusal
    assert not shown


def test_a_folder_that_is_nested_without_end_is_refused(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a"] * 40)
    deep.mkdir(parents=True)
    with pytest.raises(ProfileFileError, match="nested too deeply"):
        import_recording(tmp_path)


@pytest.mark.parametrize(("vgprs", "waves"), [(168, 3), (64, 8)])
def test_the_code_object_of_a_trace_says_how_many_waves_fit(
    tmp_path: Path, sandbox: Sandbox, settings: Settings, vgprs: int, waves: int
) -> None:
    text = f'__global__ __launch_bounds__(256) void copy(float* x) {{ asm volatile("" ::: "v{vgprs - 1}"); }}'
    built = Compiler(sandbox, settings.cache_dir).compile(text, arch="gfx942")
    assert built.code_object, built.result
    (trace(tmp_path) / "gfx942_code_object_id_3.out").write_bytes(built.code_object)
    result = import_recording(tmp_path)
    assert result.kernels[0].metrics[FIT].value == waves
    assert not any("code_object" in warning for warning in result.warnings)
    told = f"registers and LDS let {waves} waves reside on a SIMD" in result.diagnosis[0].because
    assert told == (waves <= 3)
