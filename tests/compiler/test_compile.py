"""The compiler in its sandbox, from source to resources and reasons."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from amdkernel_mcp.compiler.compile import ARCHES, Compiled, Compiler
from amdkernel_mcp.compiler.compile_job import run_compile
from amdkernel_mcp.compiler.flags import parse_flags
from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import FlagError, InputError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.occupancy import occupancy
from amdkernel_mcp.results.kernels import Diagnostic, KernelResources
from tests.compiler.kernels import LOOKUP, REVERSE, SAXPY
from tests.one_in import one_in

pytestmark = pytest.mark.sandbox

CompileOk = Callable[..., Compiled]
BIG_LDS = 'extern "C" __global__ void big(char* x) { __shared__ char s[65792]; s[x[0]] = x[1]; x[0] = s[x[1]]; }\n'
TEMPLATE_ERROR = """\
template <class T> __device__ int f(T a) { return a.x; }
__global__ void k(int* x) {
  *x = f(1);
}
"""
TEMPLATE_BOMB = """\
template <int N> struct Wide { Wide<N - 1> a; Wide<N - 1> b; static constexpr unsigned long v = Wide<N - 1>::v + N; };
template <> struct Wide<0> { static constexpr unsigned long v = 1; };
template <int A, int B> struct Grid { static constexpr unsigned long v = Grid<A - 1, B>::v + Grid<A, B - 1>::v; };
template <int B> struct Grid<0, B> { static constexpr unsigned long v = 1; };
template <int A> struct Grid<A, 0> { static constexpr unsigned long v = 1; };
extern "C" __global__ void k(unsigned long* x) { *x = Grid<500, 500>::v; }
"""

MACRO_BOMB = "\n".join(f"#define X{n + 1} {f'X{n} ' * 10}" for n in range(9)) + "\n#define X0 1,\nint x[] = { X9 };\n"


def errors_of(compiler: Compiler, source: str, arch: str = "gfx942", flags: tuple[str, ...] = ()) -> list[Diagnostic]:
    compiled = compiler.compile(source, arch=arch, flags=flags, file_name="candidate.hip")
    assert not compiled.result.ok
    assert compiled.code_object is None
    assert compiled.result.code_object is None
    return [diagnostic for diagnostic in compiled.result.diagnostics if diagnostic.severity == "error"]


def the_kernel(compiled: Compiled) -> KernelResources:
    [kernel] = compiled.result.kernels
    return kernel


# -- what comes out ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ARCHES)
def test_every_arch_compiles_and_tells_its_resources(compile_ok: CompileOk, arch: str) -> None:
    compiled = compile_ok(REVERSE, arch)
    kernel = the_kernel(compiled)
    assert compiled.code_object is not None
    assert compiled.code_object.startswith(b"\x7fELF")
    assert (kernel.name, kernel.lds_bytes, kernel.scratch_bytes) == ("reverse", 4000, 0)
    assert kernel.wavefront_size == (32 if arch.startswith("gfx1") else 64)
    assert kernel.instructions["lds"] == 2
    assert kernel.instructions["vmem"] == 2
    assert compiled.result.isolation == "docker"
    assert re.fullmatch(r"HIP [\d.-]+, clang [\d.]+", compiled.result.toolchain or "")


def test_an_array_indexed_by_data_lies_in_scratch(compile_ok: CompileOk) -> None:
    assert the_kernel(compile_ok(LOOKUP)).scratch_bytes >= 64 * 4


def test_too_few_registers_make_spills(compile_ok: CompileOk) -> None:
    many = "\n".join(f"  float v{n} = x[i + {n} * 1000];" for n in range(160))
    total = " + ".join(f"v{n} * v{159 - n}" for n in range(160))
    source = (
        f'extern "C" __global__ void __launch_bounds__(1024, 8) k(float* x) {{\n  int i = threadIdx.x;\n{many}\n'
        '  __syncthreads(); asm volatile("" ::: "memory");\n'
        f"  x[i] = {total};\n}}\n"
    )
    kernel = the_kernel(compile_ok(source))
    assert kernel.vgpr <= 64
    assert kernel.vgpr_spills > 0
    assert kernel.scratch_bytes > 0
    assert kernel.instructions["scratch"] > 0


def test_matrix_instructions_are_a_family_of_their_own(compile_ok: CompileOk) -> None:
    source = """
        typedef float f4 __attribute__((ext_vector_type(4)));
        typedef _Float16 h4 __attribute__((ext_vector_type(4)));
        extern "C" __global__ void k(const h4* a, f4* c) {
          c[threadIdx.x] = __builtin_amdgcn_mfma_f32_16x16x16f16(a[0], a[threadIdx.x], c[threadIdx.x], 0, 0, 0);
        }"""
    assert the_kernel(compile_ok(source)).instructions["mfma"] == 1


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("lds_bytes", [*(pytest.param(n, marks=pytest.mark.thorough) for n in (0, 9000)), 40000])
def test_occupancy_is_what_the_compiler_itself_says(compile_ok: CompileOk, arch: str, lds_bytes: int) -> None:
    shared = f"__shared__ char s[{lds_bytes}]; s[threadIdx.x] = *x; __syncthreads(); *x = s[255 - threadIdx.x];"
    body = shared if lds_bytes else "*x *= 3;"
    source = f'extern "C" __global__ void __launch_bounds__(256) k(int* x) {{ {body} }}'
    compiled = compile_ok(source, arch, ("-Rpass-analysis=kernel-resource-usage",))
    remarks = " ".join(d.message for d in compiled.result.diagnostics if d.severity == "remark")
    said = re.search(r"Occupancy \[waves/SIMD\]: (\d+)", remarks)
    assert said, remarks
    assert the_kernel(compiled).occupancy_waves_per_simd == int(said[1])


def test_the_library_answers_for_dynamic_lds_as_well() -> None:
    assert occupancy("gfx942", vgprs=8, sgprs=8, lds_bytes=32768, workgroup_size=64, wave_size=64).limit == "lds"


def test_the_usual_headers_work_with_and_without_the_runtime_header(compile_ok: CompileOk) -> None:
    body = """
        #include <hip/hip_fp16.h>
        #include <hip/hip_bf16.h>
        #include <hip/hip_cooperative_groups.h>
        extern "C" __global__ void k(__half* h, __hip_bfloat16* b) {
          cooperative_groups::this_thread_block().sync();
          h[0] = __hadd(h[0], h[1]);
          b[0] = b[1] + b[2];
        }"""
    assert the_kernel(compile_ok(body)).instructions["other"] > 0
    assert compile_ok("#include <hip/hip_runtime.h>\n#include <hip/hip_fp8.h>\n" + SAXPY).result.diagnostics == []


def test_host_code_beside_the_kernel_is_no_error(compile_ok: CompileOk) -> None:
    source = SAXPY + "int main() { saxpy<<<1, 64>>>(nullptr, nullptr, 1.0f, 0); return hipDeviceSynchronize(); }\n"
    assert the_kernel(compile_ok(source)).name == "saxpy"


def test_a_file_without_a_kernel_is_told(compile_ok: CompileOk) -> None:
    result = compile_ok("template <class T> __global__ void k(T* x) { *x = 1; }\n").result
    assert result.kernels == []
    assert "defines no kernel" in result.diagnostics[0].message


@pytest.mark.thorough
def test_flags_reach_the_compiler(compile_ok: CompileOk) -> None:
    check = "#if TILE != 8 || !defined(FAST)\n#error flags\n#endif\n"
    source = check + 'extern "C" __global__ void k(float* x) { *x = sinf(*x); }'
    exact = compile_ok(source, "gfx942", ("-DTILE=8", "-DFAST"))
    fast = compile_ok(source, "gfx942", ("-DTILE=8", "-DFAST", "-ffast-math"))
    slow = compile_ok(source, "gfx942", ("-DTILE=8", "-DFAST", "-O0"))
    counts = [sum(the_kernel(compiled).instructions.values()) for compiled in (fast, slow, exact)]
    assert counts == sorted(counts), "sinf is one instruction with fast math, and a call at -O0"
    assert len(set(counts)) == 3


@pytest.mark.thorough
def test_every_listed_kind_of_flag_is_known_to_the_compiler(compile_ok: CompileOk) -> None:
    flags = (
        "-std=c++20", "-ffp-contract=fast", "-fno-math-errno", "-fno-signed-zeros", "-munsafe-fp-atomics", "-Wall",
        "-g", "--gpu-max-threads-per-block=512", "-funroll-loops", "-fgpu-flush-denormals-to-zero",
        "-mllvm", "-amdgpu-early-inline-all=true", "-mllvm", "-amdgpu-function-calls=false",
        "-mllvm", "-unroll-threshold=300", "-mllvm", "-inline-threshold=99",
        "-mllvm", "-amdgpu-use-divergent-register-indexing",
        "-mllvm", "-enable-post-misched=0", "-mllvm", "-amdgpu-schedule-metric-bias=10",
        "-mllvm", "-amdgpu-mfma-padding-ratio=0", "-mllvm", "-amdgpu-unroll-threshold-private=900",
        "-mllvm", "-amdgpu-sched-strategy=max-ilp", "-mllvm", "-greedy-reverse-local-assignment=1",
    )  # fmt: skip
    assert compile_ok(REVERSE, "gfx942", flags).result.diagnostics == []


# -- the precompiled header ----------------------------------------------------------------------------------------


def used_header(sandbox: Sandbox, source: str, *flags: str, arch: str = "gfx942") -> str:
    outcome = run_compile(sandbox, source, arch=arch, flags=parse_flags(flags), file_name="k.hip")
    assert outcome.ok, outcome.messages
    return outcome.precompiled_header


@pytest.mark.parametrize("arch", one_in(9, ARCHES, others=pytest.mark.thorough))
def test_the_precompiled_header_is_used_for_every_arch(sandbox: Sandbox, arch: str) -> None:
    assert used_header(sandbox, SAXPY, "-DTILE=4", "-Wall", "-O2", arch=arch) == "default"


def test_fast_math_uses_its_own(sandbox: Sandbox) -> None:
    assert used_header(sandbox, "#include <hip/hip_runtime.h>\n" + SAXPY, "-ffast-math") == "fast-math"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("preamble", "flags"),
    [
        ("", ("-std=c++20",)),
        ("", ("-DNDEBUG",)),
        ("#define __HIP_NO_IMAGE_SUPPORT 1\n#include <hip/hip_runtime.h>\n", ()),
    ],
    ids=["flag", "macro of the header by flag", "macro of the header in the source"],
)
def test_what_could_change_the_header_makes_it_be_read_anew(
    sandbox: Sandbox, preamble: str, flags: tuple[str, ...]
) -> None:
    assert used_header(sandbox, preamble + SAXPY, *flags) == "none"


def test_a_macro_of_the_header_set_in_the_source_has_its_effect(compile_ok: CompileOk) -> None:
    source = """#define HIP_ENABLE_WARP_SYNC_BUILTINS
        #include <hip/hip_runtime.h>
        extern "C" __global__ void k(int* x) { *x = __shfl_sync(0xffffffffffffffffull, *x, 3); }"""
    assert compile_ok(source).result.ok


@pytest.mark.thorough
def test_the_code_is_the_same_with_the_precompiled_header_and_without(sandbox: Sandbox) -> None:
    flags = parse_flags(["-O3"])
    header = run_compile(sandbox, REVERSE, arch="gfx942", flags=flags, file_name="k.hip")
    plain_flags = replace(flags, variant="none", passed=("-O3",))
    plain = run_compile(sandbox, REVERSE, arch="gfx942", flags=plain_flags, file_name="k.hip")
    assert (header.precompiled_header, plain.precompiled_header) == ("default", "none")
    assert header.code_object == plain.code_object


# -- what goes wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "line", "column", "message"),
    [
        ('extern "C" __global__ void k(float* x) {\n  x[0] = 1\n}', 2, 11, "expected ';' after expression"),
        ("#define BAD(x) ((x) + nope)\n__device__ int f() {\n  return BAD(2);\n}", 3, 10, "identifier 'nope'"),
        (TEMPLATE_ERROR, 1, 52, "member reference base type 'int'"),
        ("__device__ float g(float);\n__global__ void k(float* x) {\n  *x = g(*x);\n}", 3, None, "symbol: g(float)"),
        ("#include <no_such_header.h>\n", 1, 10, "'no_such_header.h' file not found"),
        ("#include <type_traits>\n__device__ std::enable_if_t<false, int> f();", 2, 17, "no type named 'type'"),
    ],
    ids=["syntax", "macro", "template", "undefined function", "missing header", "error in a header"],
)  # fmt: skip
def test_an_error_stands_at_its_place_in_the_users_file(
    compiler: Compiler, source: str, line: int, column: int | None, message: str
) -> None:
    error = errors_of(compiler, source)[0]
    assert message in error.message
    assert (error.line, error.column) == (line, column)


def test_an_error_in_a_template_keeps_the_note_on_who_asked_for_it(compiler: Compiler) -> None:
    notes = [d for d in compiler.compile(TEMPLATE_ERROR, arch="gfx942").result.diagnostics if d.severity == "note"]
    assert [(note.line, "requested here" in note.message) for note in notes] == [(3, True)]


def test_places_are_the_same_without_the_precompiled_header(compiler: Compiler) -> None:
    [error] = errors_of(compiler, "#include <hip/hip_runtime.h>\nint x = ;\n", flags=("-std=c++20",))
    assert (error.line, error.column, error.message) == (2, 9, "expected expression")


def test_lds_over_the_limit_is_an_error_of_the_kernel(compiler: Compiler) -> None:
    source = "\n" + BIG_LDS
    error = errors_of(compiler, source)[0]
    assert error.message == "local memory (65792) exceeds limit (65536) in 'big'"
    assert error.line == 2


def test_the_same_lds_fits_where_there_is_more(compile_ok: CompileOk) -> None:
    assert the_kernel(compile_ok(BIG_LDS, "gfx950")).lds_bytes == 65792


def test_warnings_are_kept_with_a_good_compile(compile_ok: CompileOk) -> None:
    source = 'extern "C" __global__ void k(float* x) {\n  int unused;\n  *x = 1;\n}'
    [warning] = compile_ok(source, "gfx942", ("-Wall",)).result.diagnostics
    assert (warning.severity, warning.line, warning.column) == ("warning", 2, 7)


def test_a_flood_of_errors_is_short(compiler: Compiler) -> None:
    compiled = compiler.compile("\n".join(f"int v{n} = nope{n} +;" for n in range(5000)), arch="gfx942")
    assert len(compiled.result.model_dump_json()) < 8000


def test_an_instruction_of_another_arch_is_an_error_with_a_line(compiler: Compiler) -> None:
    wmma = "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]"
    source = f'extern "C" __global__ void k(float* x) {{\n  asm volatile("{wmma}");\n}}'
    error = errors_of(compiler, source)[0]
    assert error.line == 2


@pytest.mark.parametrize("name", ["../../etc/passwd.hip", "-o.hip", "a b.hip", "macros", "x" * 300, "kernel.co"])
def test_an_odd_file_name_does_no_harm(compiler: Compiler, name: str) -> None:
    assert compiler.compile(SAXPY, arch="gfx942", file_name=name).result.ok


def test_a_flag_outside_the_list_and_an_unknown_arch_are_bad_input(compiler: Compiler) -> None:
    with pytest.raises(FlagError, match="-fplugin"):
        compiler.compile(SAXPY, arch="gfx942", flags=["-fplugin=x"])
    with pytest.raises(InputError, match="gfx906"):
        compiler.compile(SAXPY, arch="gfx906")


def test_a_source_that_names_files_of_the_host_reads_none(compiler: Compiler) -> None:
    error = errors_of(compiler, f'#include "{Path(__file__).resolve()}"\n')[0]
    assert "file not found" in error.message


# -- the cache -----------------------------------------------------------------------------------------------------


def test_the_second_compile_comes_from_the_cache_and_is_the_same(cold_compiler: Compiler) -> None:
    first = cold_compiler.compile(SAXPY, arch="gfx942", flags=["-O2"])
    again = cold_compiler.compile(SAXPY, arch="gfx942", flags=["-O2"])
    assert (first.result.cached, again.result.cached) == (False, True)
    assert again.result.model_copy(update={"cached": False}) == first.result
    assert (again.code_object, again.isa()) == (first.code_object, first.isa())


def test_a_failure_is_remembered_too(cold_compiler: Compiler) -> None:
    first, again = (cold_compiler.compile("int x = ;", arch="gfx942") for _ in range(2))
    assert again.result.cached
    assert again.result.diagnostics == first.result.diagnostics


@pytest.mark.parametrize("other", [{"arch": "gfx950"}, {"flags": ["-O2"]}, {"file_name": "other.hip"}])
def test_another_arch_flag_or_name_is_another_entry(cold_compiler: Compiler, other: dict[str, object]) -> None:
    given: dict[str, object] = {"arch": "gfx942", "flags": [], "file_name": "kernel.hip"}
    cold_compiler.compile(SAXPY, **given)  # type: ignore[arg-type]
    assert not cold_compiler.compile(SAXPY, **{**given, **other}).result.cached  # type: ignore[arg-type]


def test_a_damaged_entry_is_compiled_anew(sandbox: Sandbox, tmp_path: Path) -> None:
    compiler = Compiler(sandbox, tmp_path)
    compiler.compile(SAXPY, arch="gfx942")
    [file] = [path for path in tmp_path.rglob("*") if path.is_file()]
    file.write_bytes(file.read_bytes()[:-10])
    result = compiler.compile(SAXPY, arch="gfx942").result
    assert (result.ok, result.cached) == (True, False)


# -- bombs ---------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_compile_that_takes_too_long_is_a_diagnostic_and_not_remembered(sandbox: Sandbox, tmp_path: Path) -> None:
    compiler = Compiler(sandbox, tmp_path, timeout_s=1.5)
    for _ in range(2):
        result = compiler.compile(TEMPLATE_BOMB, arch="gfx942").result
        assert not result.ok
        assert not result.cached
        assert result.diagnostics[0].message == "the compiler did not finish within 1.5 s"


@pytest.fixture(scope="module")
def small_sandbox(sandbox: Sandbox, settings: Settings) -> Iterator[Sandbox]:
    from amdkernel_mcp.execution.docker.daemon import connect
    from amdkernel_mcp.execution.docker.sandbox import DockerSandbox, PoolSizes
    from amdkernel_mcp.execution.limits import COMPILE_LIMITS

    limits = replace(COMPILE_LIMITS, memory_bytes=400 << 20, work_bytes=64 << 20, out_bytes=64 << 20)
    small = DockerSandbox(
        connect(settings.docker_host), sandbox.image_id, limits={"compile": limits}, pool=PoolSizes(compile=1, run=0)
    )
    yield small
    small.close()


@pytest.mark.thorough
def test_a_compile_that_takes_all_memory_is_a_diagnostic_and_not_remembered(
    small_sandbox: Sandbox, tmp_path: Path
) -> None:
    compiler = Compiler(small_sandbox, tmp_path, timeout_s=30)
    result = compiler.compile(MACRO_BOMB, arch="gfx942").result
    assert not result.ok
    assert result.diagnostics[0].message == "the compiler ran out of memory and was killed"
    assert not list((tmp_path / "compile").rglob("*"))


NOTE = r"""
extern "C" __global__ void k(float* a) {
  asm volatile(".pushsection .note.x,\"a\",@note\n.long 7, 4, 32\n.asciz \"AMDGPU\"\n"
               ".byte 0\n.long 0xc1c1c1c1\n.popsection");
}
"""


def test_a_note_that_a_kernel_forged_is_a_fault_of_the_kernel(compiler: Compiler) -> None:
    [error] = errors_of(compiler, NOTE)
    assert "the code object cannot be read" in error.message
