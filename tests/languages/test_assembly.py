"""Assembly and code objects as candidates: verdicts, lines, targets and damage."""

import base64
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.compile import Compile
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.kernel_source import CODE_OBJECT, MAX_BYTES, KernelSource, read_kernel
from amdkernel_mcp.languages.assembly import Assembly, CodeObject
from amdkernel_mcp.languages.table import language_of
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.results.kernels import CheckResult

PLAN = "; amdkernel: launch add grid=[ceil_div(n, 256)] block=[256]\n"
ADD = """\
; amdkernel: launch add grid=[ceil_div(n, 256)] block=[256]
    .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
    .text
    .globl add
    .p2align 8
    .type add,@function
add:
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_load_dwordx2 s[8:9], s[0:1], 0x10
    s_load_dword s10, s[0:1], 0x18
    s_lshl_b32 s2, s2, 8
    v_add_u32_e32 v0, s2, v0
    s_waitcnt lgkmcnt(0)
    v_cmp_gt_i32_e32 vcc, s10, v0
    s_and_saveexec_b64 s[12:13], vcc
    s_cbranch_execz .Lend
    v_lshlrev_b32_e32 v1, 2, v0
    global_load_dword v2, v1, s[4:5]
    global_load_dword v3, v1, s[6:7]
    s_waitcnt vmcnt(0)
    v_add_f32_e32 v2, v2, v3
    global_store_dword v1, v2, s[8:9]
.Lend:
    s_endpgm

    .section .rodata,"a",@progbits
    .p2align 6
    .amdhsa_kernel add
        .amdhsa_next_free_vgpr 4
        .amdhsa_next_free_sgpr 16
        .amdhsa_accum_offset 4
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_system_sgpr_workgroup_id_x 1
    .end_amdhsa_kernel

    .amdgpu_metadata
---
amdhsa.version: [1, 0]
amdhsa.kernels:
  - .name: add
    .symbol: add.kd
    .kernarg_segment_size: 32
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 22
    .vgpr_count: 4
    .max_flat_workgroup_size: 256
    .args:
      - {.size: 8, .offset: 0, .value_kind: global_buffer, .address_space: global}
      - {.size: 8, .offset: 8, .value_kind: global_buffer, .address_space: global}
      - {.size: 8, .offset: 16, .value_kind: global_buffer, .address_space: global}
      - {.size: 4, .offset: 24, .value_kind: by_value}
...
    .end_amdgpu_metadata
"""
WITHOUT_WAIT = ADD.replace("s_waitcnt vmcnt(0)", "s_nop 0")
NEW_TARGET = ADD.replace("amdgcn-amd-amdhsa--gfx942", "amdgpu9.42-amd-amdhsa-unknown-gfx942")


@pytest.fixture(scope="module")
def engine(settings: Settings, sandbox: Sandbox) -> Iterator[Engine]:
    del sandbox  # its image is there then
    opened = Engine(settings)
    yield opened
    opened.close()


def check(engine: Engine, source: str, target: str = "emulator:gfx942") -> CheckResult:
    options = CheckOptions(seed_count=1, schedules=0)
    return engine.do(Check(problem="vector_add", source=source, target=target, options=options))


@pytest.fixture(scope="module")
def assembled(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Code objects without debug data: of the kernel, of the one without a wait, and one that names its lines."""
    compiler = Compiler(sandbox, tmp_path_factory.mktemp("cache"))
    toolchain = language_of(ADD, "add.s").toolchain(Assembly().read_plan(ADD), None)
    # lines that a compiler noted keep the assembler from noting its own
    silent = ADD.replace("add:\n", 'add:\n    .file 1 "made.cu"\n', 1)
    texts = {
        "right": silent,
        "wrong": silent.replace("s_waitcnt vmcnt(0)", "s_nop 0"),
        "named": WITHOUT_WAIT,
    }
    found = {}
    for name, text in texts.items():
        compiled = compiler.compile(text, arch="gfx942", toolchain=toolchain)
        assert compiled.code_object, compiled.result.diagnostics
        found[name] = compiled.code_object
    return found


def as_file(folder: Path, content: bytes, plan: str | None = PLAN) -> KernelSource:
    file = folder / "add.co"
    file.write_bytes(content)
    if plan is not None:
        (folder / "add.co.plan").write_text(plan)
    return read_kernel(file)


@pytest.mark.sandbox
def test_assembly_is_judged_like_any_kernel(engine: Engine) -> None:
    for source in (ADD, NEW_TARGET):
        answer = check(engine, source)
        assert answer.verdict == "correct", (answer.reason, answer.findings)
    answer = check(engine, WITHOUT_WAIT)
    found = {(finding.kind, finding.line) for finding in answer.findings}
    assert (answer.verdict, found & {("missing_wait", 19)}) == ("incorrect", {("missing_wait", 19)}), answer.findings


SCALAR_LINES = {
    # each workgroup leaves its number at one place, besides what lane 0 of the first stores there
    "s_store_dword s11, s[8:9], 0x0": ("race", 14),
    "s_store_dword s11, s[8:9], s12": ("out_of_bounds", 14),
    "s_store_dword s11, s[4:5], 0x0": ("input_modified", 14),
    "s_atomic_add s11, s[8:9], 0x0": ("uninitialised_read", 14),
}


@pytest.mark.sandbox
@pytest.mark.thorough
def test_mistakes_in_scalar_stores_and_atomics_are_found_with_their_line(engine: Engine) -> None:
    before = "    s_waitcnt lgkmcnt(0)\n    s_lshl_b32 s12, s10, 2\n    s_add_u32 s11, s2, 5\n"
    for line, expected in SCALAR_LINES.items():
        answer = check(
            engine, ADD.replace("    s_lshl_b32", f"{before}    {line}\n    s_waitcnt lgkmcnt(0)\n    s_lshl_b32", 1)
        )
        found = {(finding.kind, place) for finding in answer.findings for place in (finding.line, finding.other_line)}
        assert answer.verdict != "correct", line
        assert expected in found, (line, answer.findings)


@pytest.mark.sandbox
@pytest.mark.thorough
def test_a_wave_finds_the_workgroups_waves_and_whether_it_is_the_first(engine: Engine) -> None:
    """Bit 31 and bits 0 to 5.  LLVM AMDGPUUsage, "SGPR Register Set Up Order", Work-Group Info."""
    first = """add:
    s_lshr_b32 s14, s3, 31
    v_readfirstlane_b32 s15, v0
    s_cmp_lt_u32 s15, 64
    s_cselect_b32 s15, 1, 0
    s_cmp_lg_u32 s14, s15
    s_cbranch_scc1 .Lend
    s_and_b32 s14, s3, 0x7fffffff
    s_cmp_lg_u32 s14, 4
    s_cbranch_scc1 .Lend
"""
    asked = ADD.replace("id_x 1\n", "id_x 1\n        .amdhsa_system_sgpr_workgroup_info 1\n", 1)
    answer = check(engine, asked.replace("add:\n", first, 1))
    assert answer.verdict == "correct", (answer.reason, answer.findings)


@pytest.mark.sandbox
@pytest.mark.thorough
def test_wait_states_that_a_given_code_object_lacks_are_named_without_a_verdict(
    engine: Engine, sandbox: Sandbox, tmp_path: Path
) -> None:
    """AMD's own hand-written kernels lack them; in assembly that can still be changed they are a mistake."""
    early = (
        "v_cmp_eq_u32_e64 s[14:15], v0, v0\n    v_cndmask_b32_e64 v3, v3, v3, s[14:15]\n    v_add_f32_e32 v2, v2, v3"
    )
    source = ADD.replace("v_add_f32_e32 v2, v2, v3", early)
    answer = check(engine, source)
    assert (answer.verdict, [found.kind for found in answer.findings]) == ("incorrect", ["missing_wait"])
    toolchain = language_of(source, "add.s").toolchain(Assembly().read_plan(source), None)
    compiled = Compiler(sandbox, tmp_path / "cache").compile(source, arch="gfx942", toolchain=toolchain)
    assert compiled.code_object, compiled.result.diagnostics
    answer = check(engine, as_file(tmp_path, compiled.code_object).source)
    assert (answer.verdict, [found.kind for found in answer.findings]) == ("correct", ["missing_wait"]), answer.reason
    assert "judged by its run" in answer.findings[0].message


@pytest.mark.sandbox
def test_an_error_of_the_assembler_has_its_line(engine: Engine) -> None:
    answer = check(engine, ADD.replace("v_add_f32_e32 v2, v2, v3", "v_add_f99 v2, v2, v3"))
    assert (answer.verdict, answer.findings[0].line) == ("invalid", 21), answer.findings
    other = check(engine, ADD, "emulator:gfx1100")
    assert (other.verdict, other.findings[0].line) == ("invalid", 2), "the text says for which GPU it is"


@pytest.mark.thorough
@pytest.mark.sandbox
def test_a_code_object_is_judged_and_its_mistake_is_in_the_disassembly(
    engine: Engine, assembled: dict[str, bytes], tmp_path: Path
) -> None:
    right = as_file(tmp_path, assembled["right"])
    assert check(engine, right.source).verdict == "correct"
    wrong = as_file(tmp_path, assembled["wrong"])
    answer = check(engine, wrong.source)
    finding = next(found for found in answer.findings if "v3 is used" in found.message)
    assert (answer.verdict, finding.kind) == ("incorrect", "missing_wait")
    assert "of the disassembly" in finding.message
    listing = engine.do(Compile(source=wrong.source, isa=True)).isa or ""
    [line] = [line for line in listing.splitlines() if line.split()[:1] == [str(int(finding.line or 0))]]
    assert "global_load_dword v3" in line, (finding, listing)


@pytest.mark.sandbox
def test_the_lines_of_a_code_object_are_those_of_its_debug_data(
    engine: Engine, assembled: dict[str, bytes], tmp_path: Path
) -> None:
    source = as_file(tmp_path, assembled["named"]).source
    messages = [finding.message for finding in check(engine, source).findings if finding.kind == "missing_wait"]
    assert any("v3 is used in line 21 of kernel.s" in message for message in messages), messages


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda code: code[:90], "cut off|damaged|cannot be read|no section"),
        (lambda code: code.replace(b".value_kind", b".value_kin_"), "argument without a size or a kind"),
        (lambda code: code.replace(b"\xa3add", b"\xa3a\x1bd"), "no .name that can be shown"),
        (lambda code: code[:18] + b"\x3e\x00" + code[20:], "no code object"),
    ],
    ids=["cut", "arguments", "a name", "a program"],
)
def test_a_damaged_code_object_is_an_invalid_candidate(
    engine: Engine, assembled: dict[str, bytes], tmp_path: Path, damage: Callable[[bytes], bytes], says: str
) -> None:
    answer = check(engine, as_file(tmp_path, damage(assembled["right"])).source)
    assert answer.verdict == "invalid"
    assert re.search(says, answer.reason), answer.reason


@pytest.mark.sandbox
def test_a_code_object_for_another_gpu_names_its_own(
    engine: Engine, assembled: dict[str, bytes], tmp_path: Path
) -> None:
    answer = check(engine, as_file(tmp_path, assembled["right"]).source, "emulator:gfx90a")
    assert "is for gfx942, not for gfx90a" in answer.reason


def test_a_binary_file_becomes_its_plan_and_base64(tmp_path: Path) -> None:
    kernel = as_file(tmp_path, b"\x7fELF and more", f"a remark\n{PLAN}")
    assert kernel.source == f"{PLAN}{CODE_OBJECT}\n" + base64.b64encode(b"\x7fELF and more").decode() + "\n"
    assert language_of(kernel.source, "kernel.hip").name == "code object"
    [mistake] = CodeObject().read_plan(CODE_OBJECT, load_problem("vector_add")).mistakes
    assert "`NAME.co.plan`" in mistake.message
    with pytest.raises(InputError, match="768 KiB"):
        as_file(tmp_path, b"\x7fELF" + bytes(MAX_BYTES * 3 // 4), None)
