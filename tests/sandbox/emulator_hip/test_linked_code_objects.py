"""Code objects that were linked from several: all kernels are there, and each runs from its own part of the code."""

from pathlib import Path

import pytest

from amdkernel_mcp.compiler.code_object import read_kernels
from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

KERNELS = ["alone", "calls", "jumps_within", "jumps_to_another", "jumps_out"]
BUILD = """
set -e
bin=$(ls -d /usr/lib/llvm-*/bin | sort -V | tail -1)
device="hipcc -O1 -nogpuinc --offload-arch=gfx942 --offload-device-only -Wno-unused-command-line-argument"
for part in FIRST SECOND; do
    $device -D$part -S -o part.s linked.hip
    $bin/clang --target=amdgcn-amd-amdhsa -mcpu=gfx942 -c -o $part.o part.s
done
$bin/ld.lld -shared -o $OUT/linked.co FIRST.o SECOND.o
hipcc -DHOST --offload-arch=gfx942 -Wno-unused-command-line-argument -o $OUT/linked linked.hip
"""
RUN = """
chmod +x linked
export LD_LIBRARY_PATH=/opt/amdkernel/emulator AMDKERNEL_EMULATOR_OPTIONS=arena_mb=1024
for kernel in {kernels}; do ./linked $kernel >>$OUT/printed 2>>$OUT/errors; done
"""


@pytest.fixture(scope="module")
def built(sandbox: Sandbox) -> dict[str, bytes]:
    source = (Path(__file__).parent / "linked.hip").read_bytes()
    done = sandbox.run("compile", ["sh", "-c", BUILD], {"linked.hip": source}, timeout_s=500)
    assert done.exit_code == 0, done.stderr
    return dict(done.files)


@pytest.fixture(scope="module")
def printed(sandbox: Sandbox, built: dict[str, bytes]) -> dict[str, list[str]]:
    done = sandbox.run("run", ["sh", "-c", RUN.format(kernels=" ".join(KERNELS))], built, timeout_s=500)
    lines = [line.split() for line in done.files["printed"].decode().splitlines()]
    return {name: rest for name, *rest in lines} | {"errors": done.files["errors"].decode().splitlines()}


def test_the_kernels_of_every_object_are_listed(built: dict[str, bytes]) -> None:
    assert [kernel.name for kernel in read_kernels(built["linked.co"])] == KERNELS


@pytest.mark.parametrize(("kernel", "value"), [("alone", "1"), ("calls", "2"), ("jumps_within", "3")])
def test_a_kernel_runs_and_calls_and_jumps_to_its_own_code(
    printed: dict[str, list[str]], kernel: str, value: str
) -> None:
    assert printed[kernel] == ["hipSuccess", value]


def test_a_jump_to_another_kernel_is_not_emulated(printed: dict[str, list[str]]) -> None:
    assert printed["jumps_to_another"] == ["hipErrorNotSupported", "0"]
    assert any("s_setpc_b64" in line for line in printed["errors"]), printed["errors"]


def test_a_jump_to_what_is_no_code_is_a_fault(printed: dict[str, list[str]]) -> None:
    assert printed["jumps_out"] == ["hipErrorIllegalAddress", "0"]
