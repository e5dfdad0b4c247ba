"""What inspect says about files of every kind, and that it is what compile says of the same kernel."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from amdkernel_mcp.compiler.compile import Compiler
from amdkernel_mcp.compiler.elf_file import ElfFile
from amdkernel_mcp.engine.inspect_file import inspect_file
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.results.inspection import InspectResult
from amdkernel_mcp.work import Work
from tests.compiler.kernels import LOOKUP, REVERSE
from tests.foreign_objects import Metadata, bundle, metadata_of, with_header, with_metadata
from tests.one_in import one_in

pytestmark = pytest.mark.sandbox

SOURCE = """#define __global__ __attribute__((global))
struct dim3 { unsigned x, y, z; };
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
template <typename T> __global__ void twice(T *x) { x[0] *= 2; }
template __global__ void twice<float>(float *);
extern "C" __global__ void strange(float *x) {
#ifdef __HIP_DEVICE_COMPILE__
  asm volatile("s_rfe_b64 s[4:5]\\nv_mov_b32 v200, 0");
#endif
  x[0] = 1;
}
"""
BUILD = """
set -e
bin=$(ls -d /usr/lib/llvm-*/bin | sort -V | tail -1)
compile() { $bin/clang -x hip -nogpuinc -nogpulib -O1 -w program.hip "$@"; }
device() { compile --offload-device-only "$@"; }
device --offload-arch=gfx942 --no-gpu-bundle-output -o $OUT/bare.co
device --offload-arch=gfx942 --offload-arch=gfx1201 --gpu-bundle-output -o $OUT/bundle
device --offload-arch=gfx942 --offload-arch=gfx1201 --gpu-bundle-output --offload-compress -o $OUT/compressed
device --offload-arch=gfx1030 --no-gpu-bundle-output -o $OUT/rdna2.co
device --offload-arch=gfx942 -fgpu-rdc -c --no-gpu-bundle-output -emit-llvm -o part.bc
$bin/clang -target amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -c part.bc -o $OUT/unlinked.o
compile --offload-arch=gfx90a --offload-arch=gfx950 --offload-compress -c -o $OUT/program.o
compile --offload-arch=gfx1100 -c -o other.o
$bin/ld.lld -shared $OUT/program.o other.o -z muldefs -o $OUT/program.so
"""

Inspect = Callable[..., InspectResult]


@pytest.fixture(scope="module")
def built(sandbox: Sandbox) -> dict[str, bytes]:
    done = sandbox.run("compile", ["sh", "-c", BUILD], {"program.hip": SOURCE.encode()}, timeout_s=500)
    assert done.exit_code == 0, done.stderr
    return dict(done.files)


@pytest.fixture
def inspect(sandbox: Sandbox, tmp_path: Path) -> Inspect:
    def inspect(content: bytes, kernel: str | None = None) -> InspectResult:
        file = tmp_path / "file"
        file.write_bytes(content)
        return inspect_file(sandbox, file, kernel=kernel, work=Work())

    return inspect


@pytest.mark.parametrize(
    "arch", one_in(9, ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"], others=pytest.mark.thorough)
)
def test_our_own_kernels_have_the_resources_that_compile_reports(
    sandbox: Sandbox, tmp_path: Path, inspect: Inspect, arch: str
) -> None:
    compiled = Compiler(sandbox, tmp_path).compile(REVERSE + LOOKUP, arch=arch)
    assert compiled.code_object
    [found] = inspect(compiled.code_object).objects
    assert (found.arch, found.damaged, found.notes, found.not_emulated) == (arch, None, [], [])
    assert found.code_object == compiled.result.code_object
    for kernel, expected in zip(found.kernels, compiled.result.kernels, strict=True):
        told = kernel.model_dump()
        assert {key: told[key] for key in expected.model_dump()} == expected.model_dump()
        assert kernel.kernarg_bytes
        assert kernel.max_workgroup_size == (128 if kernel.name == "reverse" else 1024)
        assert (kernel.not_emulated, kernel.notes) == ([], [])


def test_without_metadata_the_rest_is_shown_and_nothing_is_a_zero_that_nobody_said(
    built: dict[str, bytes], inspect: Inspect
) -> None:
    def forget(metadata: Metadata) -> None:
        metadata["amdhsa.version"] = [1, 0]
        del metadata["amdhsa.target"]
        for kernel in metadata["amdhsa.kernels"]:
            for key in set(kernel) - {".name", ".symbol"}:
                del kernel[key]

    [found] = inspect(with_metadata(built["bare.co"], forget)).objects
    for kernel in found.kernels:
        assert kernel.vgpr
        assert kernel.instructions
        assert (kernel.vgpr_spills, kernel.sgpr_spills, kernel.max_workgroup_size) == (None, None, None)
        assert (kernel.occupancy_waves_per_simd, kernel.occupancy_limit) == (None, None)
        assert {"vgpr", "sgpr", "lds_bytes", "wavefront_size"} <= {*kernel.from_descriptor}


def test_mangled_names_are_shown_as_in_the_source_and_what_is_not_emulated_by_kernel(
    built: dict[str, bytes], inspect: Inspect
) -> None:
    [found] = inspect(built["bare.co"]).objects
    kernels = {kernel.source_name or kernel.name: kernel for kernel in found.kernels}
    assert {*kernels} == {"void twice<float>(float*)", "strange"}
    assert kernels["strange"].not_emulated == ["s_rfe_b64"]
    assert kernels["void twice<float>(float*)"].not_emulated == []
    assert [(one.mnemonic, one.function) for one in found.not_emulated] == [("s_rfe_b64", "strange")]
    assert kernels["void twice<float>(float*)"].hazards == []
    [hazard] = kernels["strange"].hazards or []
    assert "names the vector register v200, but the kernel has 8 allocated" in hazard
    mixes = {name: kernel.instructions or {} for name, kernel in kernels.items()}
    assert [mixes["strange"]["branch"], mixes["void twice<float>(float*)"]["branch"]] == [1, 0]


@pytest.mark.parametrize(
    ("file", "archs"),
    one_in(
        9,
        [
            ("bundle", ["gfx1201", "gfx942"]),
            ("compressed", ["gfx1201", "gfx942"]),
            ("program.o", ["gfx90a", "gfx950"]),
            ("program.so", ["gfx1100", "gfx90a", "gfx950"]),
        ],
        others=pytest.mark.thorough,
    ),
)
def test_bundles_and_programs_are_opened(
    built: dict[str, bytes], inspect: Inspect, file: str, archs: list[str]
) -> None:
    objects = inspect(built[file]).objects
    assert sorted(found.arch or "" for found in objects) == archs
    for found in objects:
        assert (found.bundle_entry or "").endswith(found.arch or "-")
        assert len(found.kernels) == 2
        assert all(kernel.instructions and kernel.occupancy_waves_per_simd for kernel in found.kernels)


@pytest.mark.thorough
def test_one_kernel_of_all_is_shown(built: dict[str, bytes], inspect: Inspect) -> None:
    for name in ("twice", "twice<float>"):
        objects = inspect(built["bundle"], name).objects
        assert [[kernel.source_name for kernel in found.kernels] for found in objects] == [
            ["void twice<float>(float*)"]
        ] * 2
        assert [found.not_emulated for found in objects] == [[], []]
    [strange] = inspect(built["bare.co"], "strange").objects
    assert [one.mnemonic for one in strange.not_emulated] == ["s_rfe_b64"]
    with pytest.raises(InputError, match="no kernel is called 'thrice'"):
        inspect(built["bundle"], "thrice")


def test_of_a_library_with_many_kernels_the_hint_names_some(built: dict[str, bytes], inspect: Inspect) -> None:
    def add(metadata: Metadata) -> None:
        metadata["amdhsa.kernels"] += [{".name": f"kernel_{n}"} for n in range(3000)]

    with pytest.raises(InputError) as caught:
        inspect(with_metadata(built["bare.co"], add), "thrice")
    assert len(caught.value.hint or "") <= 600


def test_code_without_sizes_is_of_no_kernel_in_particular(built: dict[str, bytes], inspect: Inspect) -> None:
    """As in hand-written objects, whose symbols have none."""
    code = bytearray(built["bare.co"])
    elf = ElfFile(built["bare.co"])
    for symbol in {symbol for symbol in elf.symbols() if symbol.is_function}:
        entry = struct.pack("<QQ", symbol.address, symbol.size)
        code = code.replace(entry, struct.pack("<QQ", symbol.address, 0))
    [found] = inspect(bytes(code)).objects
    assert [(one.mnemonic, one.function) for one in found.not_emulated] == [("s_rfe_b64", None)]
    assert [kernel.not_emulated for kernel in found.kernels] == [None, None]
    assert all(kernel.instructions and kernel.instructions["valu"] for kernel in found.kernels)
    [alone] = inspect(bytes(code), "twice").objects
    assert [kernel.not_emulated for kernel in alone.kernels] == [None]


def test_an_architecture_that_is_not_emulated_is_shown_with_a_note(built: dict[str, bytes], inspect: Inspect) -> None:
    [found] = inspect(built["rdna2.co"]).objects
    assert found.notes == ["gfx1030 is not emulated; gfx90a, gfx942, gfx950, gfx1100 and gfx1201 are"]
    for kernel in found.kernels:
        assert kernel.vgpr
        assert kernel.instructions
        assert (kernel.not_emulated, kernel.occupancy_waves_per_simd, kernel.agpr) == (None, None, 0)


def test_an_object_that_is_not_linked_says_so(built: dict[str, bytes], inspect: Inspect) -> None:
    [found] = inspect(built["unlinked.o"]).objects
    assert any(note.startswith("it is not linked") for note in found.notes)
    assert all(kernel.instructions is None for kernel in found.kernels)


def test_what_amds_runtime_refuses_is_shown_with_its_reason(built: dict[str, bytes], inspect: Inspect) -> None:
    [found] = inspect(with_header(built["bare.co"], abi=0)).objects
    assert found.notes[0] == (
        "AMD's runtime does not load it: the code object has version 2, and only 3 to 6 are loaded"
    )
    assert found.code_object_version == 2


def test_a_damaged_object_does_not_hide_the_others(built: dict[str, bytes], inspect: Inspect) -> None:
    good = built["bare.co"]
    first, second = inspect(bundle([("hip-gfx942", good[:3000]), ("hipv4-gfx942", good)])).objects
    assert first.damaged
    assert first.kernels == []
    assert (second.damaged, len(second.kernels)) == (None, 2)


def _refused_or_damaged(inspect: Inspect, content: bytes) -> tuple[bool, bool]:
    try:
        objects = inspect(content).objects
    except InputError as error:
        return bool(error.file) and len(error.message) > 10, False
    return False, any(found.damaged for found in objects)


@pytest.mark.parametrize("file", ["bare.co", "bundle", "compressed", "program.o", "program.so"])
def test_a_file_cut_at_each_eighth_gives_a_sentence_or_a_part(
    built: dict[str, bytes], inspect: Inspect, file: str
) -> None:
    for eighth in range(8):
        cut = built[file][: len(built[file]) * eighth // 8]
        file_named, damaged = _refused_or_damaged(inspect, cut)
        assert file_named or damaged or file.startswith("program")


@pytest.mark.parametrize("content", [b"", b"text", bytes(range(256)) * 64, b"\x7fELF" + bytes(200)])
def test_a_file_without_device_code_is_wrong_input(inspect: Inspect, content: bytes) -> None:
    with pytest.raises(InputError, match=r"no device code|not a 64-bit little-endian one"):
        inspect(content)


def test_the_metadata_of_the_tests_are_read_as_the_product_reads_them(
    built: dict[str, bytes], inspect: Inspect
) -> None:
    [found] = inspect(built["bare.co"]).objects
    written = {kernel[".name"]: kernel for kernel in metadata_of(built["bare.co"])["amdhsa.kernels"]}
    for kernel in found.kernels:
        assert kernel.vgpr == written[kernel.name][".vgpr_count"]
        assert kernel.kernarg_bytes == written[kernel.name][".kernarg_segment_size"]
