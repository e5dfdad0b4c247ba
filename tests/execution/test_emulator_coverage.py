"""What the emulator cannot run is named before anything runs, whatever file the device code comes in."""

from typing import Any

import pytest

from amdkernel_mcp.errors import InputError, SandboxError, UnknownTargetError
from amdkernel_mcp.execution.runner.coverage import coverage_of_arch, coverage_of_files, read_files
from amdkernel_mcp.execution.sandbox import Completed

pytestmark = pytest.mark.sandbox

SOURCE = """#define __global__ __attribute__((global))
struct dim3 { unsigned x, y, z; };
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
#if !defined STRANGE && defined __HIP_DEVICE_COMPILE__
#define STRANGE asm volatile("s_rfe_b64 s[4:5]")
#elif !defined STRANGE
#define STRANGE
#endif
extern "C" __global__ void known(float *x) { x[0] *= 2; }
extern "C" __global__ void unknown(float *x) {
  STRANGE;
  STRANGE;
  x[0] = 1;
}
"""

BUILD = """
set -e
bin=$(ls -d /usr/lib/llvm-*/bin | sort -V | tail -1)
compile() { $bin/clang -x hip -nogpuinc -nogpulib -O1 -gline-tables-only -w program.hip "$@"; }
compile --offload-arch=gfx942 --offload-device-only --no-gpu-bundle-output -o $OUT/bare.co
compile --offload-arch=gfx942 --offload-arch=gfx90a --offload-device-only --gpu-bundle-output -o $OUT/bundle
compile --offload-arch=gfx950 --offload-compress -c -o $OUT/program.o
$bin/ld.lld -shared $OUT/program.o -o $OUT/program.so
compile --offload-arch=gfx942 --offload-device-only --no-gpu-bundle-output -DSTRANGE= -o $OUT/complete.co
compile --offload-arch=gfx1100 -mwavefrontsize64 --offload-device-only --no-gpu-bundle-output -o $OUT/wave64.co \\
    '-DSTRANGE=asm volatile("s_and_saveexec_b64 s[4:5], vcc")'
compile --offload-arch=gfx1030 --offload-device-only --no-gpu-bundle-output -DSTRANGE= -o $OUT/rdna2.co
"""


@pytest.fixture(scope="module")
def built(sandbox) -> dict[str, bytes]:
    done = sandbox.run("compile", ["sh", "-c", BUILD], {"program.hip": SOURCE.encode()}, timeout_s=500)
    assert done.exit_code == 0, done.stderr
    return dict(done.files)


@pytest.mark.parametrize(
    ("file", "archs"),
    [("bare.co", ["gfx942"]), ("bundle", ["gfx90a", "gfx942"]), ("program.o", ["gfx950"]), ("program.so", ["gfx950"])],
)
def test_a_missing_instruction_is_named_with_function_line_and_count(sandbox, built, file, archs):
    result = coverage_of_files(sandbox, {file: built[file]})
    assert not result.complete
    [report] = result.files
    assert sorted(image.arch for image in report.images) == archs
    for image in report.images:
        [missing] = image.missing
        assert (missing.mnemonic, missing.count, missing.function) == ("s_rfe_b64", 2, "unknown")
        assert missing.line == "program.hip:11"
        assert image.instructions > 10


def test_a_complete_code_object_is_complete(sandbox, built):
    result = coverage_of_files(sandbox, {"complete.co": built["complete.co"]})
    assert result.complete
    assert result.files[0].images[0].missing == []


def test_masks_of_64_lanes_are_known_in_waves_of_64(sandbox, built):
    assert coverage_of_files(sandbox, {"wave64.co": built["wave64.co"]}).complete


def test_a_code_object_of_another_architecture_says_which_are_emulated(sandbox, built):
    [image] = coverage_of_files(sandbox, {"rdna2.co": built["rdna2.co"]}).files[0].images
    assert not image.complete
    assert image.note == "gfx1030 is not emulated; gfx90a, gfx942, gfx950, gfx1100 and gfx1201 are"


@pytest.mark.parametrize("content", [b"", b"text", b"\x7fELF" + bytes(200), None], ids=["empty", "text", "ELF", "cut"])
def test_a_file_without_device_code_is_reported_and_the_others_are_still_decoded(sandbox, built, content):
    content = built["bare.co"][:40] if content is None else content
    files = {"first.co": built["complete.co"], "other": content, "bare.co": built["bare.co"]}
    result = coverage_of_files(sandbox, files)
    assert not result.complete
    assert [(file.file, len(file.images), bool(file.note)) for file in result.files] == [
        ("first.co", 1, False),
        ("other", 0, True),
        ("bare.co", 1, False),
    ]
    with pytest.raises(InputError, match="no device code"):
        coverage_of_files(sandbox, {"other": content})


def test_a_damaged_code_object_is_incomplete_with_a_reason(sandbox, built):
    cut = built["bare.co"][: len(built["bare.co"]) // 2]
    [image] = coverage_of_files(sandbox, {"cut.co": cut}).files[0].images
    assert not image.complete
    assert image.note


FORMATTED = ("buffer_load_format_", "buffer_store_format_", "tbuffer_")
DEBUGGER = ("s_atc_", "s_cbranch_cdbg", "s_rfe", "s_endpgm_", "s_sendmsghalt", "s_setkill")
CDNA = (*FORMATTED, *DEBUGGER, "s_atomic_", "s_buffer_atomic_", "s_store_", "s_buffer_store_", "s_scratch_",
        "s_dcache_discard", "s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join", "ds_condxchg32",
        "buffer_store_lds_dword", "v_exp_legacy", "v_log_legacy", "v_screen_partition", "v_clrexcp")  # fmt: skip
GRAPHICS = ("image_", "exp", "v_interp_", "lds_direct_load", "lds_param_load", "ds_direct_load", "ds_param_load",
            "ds_bvh_stack_", "ds_gws_", "ds_ordered_count", "global_atomic_ordered_add_b64")  # fmt: skip
RDNA = (*FORMATTED, *DEBUGGER, *GRAPHICS, "buffer_load_d16_format_", "buffer_load_d16_hi_format_",
        "buffer_store_d16_format_", "buffer_store_d16_hi_format_", "global_load_addtid", "global_store_addtid",
        "s_movrelsd_2", "s_subvector_loop_", "s_alloc_vgpr", "s_get_barrier_state",
        "s_barrier_init", "s_barrier_join", "s_barrier_leave",
        "ds_add_gs_reg", "ds_sub_gs_reg")  # fmt: skip


@pytest.mark.parametrize(
    ("arch", "never"),
    [("gfx90a", CDNA), ("gfx942", CDNA), ("gfx950", CDNA), ("gfx1100", RDNA), ("gfx1201", RDNA)],
)
def test_what_is_missing_of_an_architecture_no_compiler_emits(sandbox, arch, never):
    """Debugger traps, scalar stores and atomics, formatted buffers, and what graphics alone uses."""
    result = coverage_of_arch(sandbox, arch)
    assert result.instructions > 900
    assert [name for name in result.missing if not name.startswith(never)] == []


def test_an_architecture_that_is_not_emulated_is_wrong_input(sandbox):
    with pytest.raises(UnknownTargetError, match="gfx803"):
        coverage_of_arch(sandbox, "gfx803")


def test_a_file_that_cannot_be_read_is_wrong_input(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_files([tmp_path / "none"])


class _Answers:
    """A sandbox that gives one answer."""

    isolation: Any = "none"
    image_id = ""

    def __init__(self, line: bytes, exit_code: int = 0) -> None:
        self.done = Completed(exit_code, {"coverage.jsonl": line}, "out of luck", False, False, False, 0.1)

    def run(self, *_, **__) -> Completed:
        return self.done

    def is_connected(self) -> bool:
        return True

    def close(self) -> None:
        pass


@pytest.mark.parametrize("line", [b"no json", b'{"file": 0}', b'{"file": 7, "image": 0}'])
def test_a_report_that_is_none_is_the_sandbox_s_fault(line):
    with pytest.raises(SandboxError):
        coverage_of_files(_Answers(line), {"x": b""})


def test_a_decoder_that_fails_says_why():
    with pytest.raises(SandboxError, match="out of luck"):
        coverage_of_files(_Answers(b"", exit_code=1), {"x": b""})
