"""`amdkernel inspect` as a user calls it: tables, JSON, exit codes, and a sentence for every damaged file."""

import json
import re
from pathlib import Path

import pytest

from amdkernel_mcp.cli.main import run
from amdkernel_mcp.execution.sandbox import Sandbox
from tests.foreign_objects import Metadata, bundle, with_metadata

SOURCE = """
__attribute__((global)) void scale(float *x) { x[0] *= 2; }
extern "C" __attribute__((global)) void clear(float *x) { x[0] = 0; }
"""
BUILD = """
bin=$(ls -d /usr/lib/llvm-*/bin | sort -V | tail -1)
$bin/clang -x hip -nogpuinc -nogpulib -O1 -w k.hip --offload-device-only --offload-arch=gfx942 --no-gpu-bundle-output \\
    -o $OUT/k.co
"""
# The keys that scripts rely on.
OBJECT = {
    *("code_object", "bytes", "bundle_entry", "arch", "target", "code_object_version"),
    *("kernels", "not_emulated", "notes", "damaged"),
}
KERNEL = {
    *("name", "source_name", "vgpr", "agpr", "sgpr", "lds_bytes", "scratch_bytes", "vgpr_spills", "sgpr_spills"),
    *("wavefront_size", "kernarg_bytes", "max_workgroup_size", "required_workgroup_size", "dynamic_stack"),
    *("occupancy_waves_per_simd", "occupancy_limit", "instructions", "not_emulated", "from_descriptor", "notes"),
}


@pytest.fixture(scope="module")
def code(sandbox: Sandbox) -> bytes:
    done = sandbox.run("compile", ["sh", "-c", BUILD], {"k.hip": SOURCE.encode()}, timeout_s=500)
    return done.files["k.co"]


@pytest.mark.sandbox
def test_the_kernels_of_a_file_are_a_table(
    code: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")  # as wide as it may be, where pytest runs in several processes and where not

    def forget(metadata: Metadata) -> None:
        for kernel in metadata["amdhsa.kernels"]:
            kernel.pop(".sgpr_spill_count")
            kernel.pop(".vgpr_spill_count")

    (tmp_path / "k.co").write_bytes(with_metadata(code, forget))
    assert run(["inspect", str(tmp_path / "k.co")]) == 0
    out = capsys.readouterr().out
    assert re.search(r"k\.co gfx942: [\d,]+ bytes, code object version \d, 2 kernels$", out, re.M)
    assert re.search(r"^clear +\d+ +0 +\d+ +0 +0 +\? +\d+ +1,024 +8  wave_slots", out, re.M)
    assert re.search(r"^scale\(float\*\): .*valu \d", out, re.M)


@pytest.mark.sandbox
def test_one_kernel_is_json(code: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.co").write_bytes(code)
    assert run(["inspect", str(tmp_path / "k.co"), "--kernel", "scale", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    [[kernel]] = [found["kernels"] for found in answer["objects"]]
    assert set(answer) >= {"file", "objects"}
    assert set(answer["objects"][0]) >= OBJECT
    assert set(kernel) >= KERNEL
    assert kernel["source_name"] == "scale(float*)"
    assert kernel["wavefront_size"] == 64
    assert run(["inspect", str(tmp_path / "k.co"), "--kernel", "scales"]) == 2
    assert "no kernel is called 'scales'" in capsys.readouterr().err


@pytest.mark.sandbox
def test_a_damaged_part_is_exit_code_2_and_the_rest_is_shown(
    code: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "both").write_bytes(bundle([("hip-gfx90a", code[:2000]), ("hip-gfx942", code)]))
    assert run(["inspect", str(tmp_path / "both")]) == 2
    shown = capsys.readouterr()
    assert "clear" in shown.out
    assert shown.err.startswith(f"amdkernel: {tmp_path / 'both'}: hip-gfx90a: the ELF file is cut off")


@pytest.mark.sandbox
def test_a_name_cannot_command_the_terminal(code: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def rename(metadata: Metadata) -> None:
        metadata["amdhsa.kernels"][0][".name"] = "\x1b]0;title\x07\n[bold]evil"

    (tmp_path / "k.co").write_bytes(with_metadata(code, rename))
    assert run(["inspect", str(tmp_path / "k.co")]) == 0
    out = capsys.readouterr().out
    assert "[bold]evil" in out
    assert "\x1b" not in out


@pytest.mark.sandbox
@pytest.mark.parametrize("eighth", range(8))
def test_a_cut_file_is_a_sentence(code: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str], eighth: int) -> None:
    (tmp_path / "cut.co").write_bytes(code[: len(code) * eighth // 8])
    assert run(["inspect", str(tmp_path / "cut.co"), "--json"]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith(f"amdkernel: {tmp_path / 'cut.co'}: ")
    assert "Traceback" not in shown.err


def test_a_file_that_is_not_there_is_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", str(tmp_path / "none")]) == 2
    assert "cannot be read" in capsys.readouterr().err
