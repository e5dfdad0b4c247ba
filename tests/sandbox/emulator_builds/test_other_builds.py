"""The emulator without x86's vectors and native code, and built for AArch64: the instructions' tests pass as well."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from build_images import aarch64_image, portable_image

from amdkernel_mcp.config import Settings
from amdkernel_mcp.execution.docker.daemon import connect
from amdkernel_mcp.execution.docker.sandbox import DockerSandbox
from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = [pytest.mark.sandbox, pytest.mark.thorough, pytest.mark.slow, pytest.mark.soak, pytest.mark.timeout(3000)]

HERE = Path(__file__).parent
TESTS = HERE.parent / "emulator"
EXAMPLES = HERE.parents[2] / "examples"
KERNELS = ("gemm_f32", "gemm_f16", "row_softmax", "rmsnorm", "histogram")
COMPILE = """
set -e
for source in *.hip; do
    hipcc --offload-arch=gfx942 -O3 --offload-device-only --no-gpu-bundle-output $source -o $OUT/${source%.hip}.co
done
"""
RUN = """
export LD_LIBRARY_PATH=/opt/amdkernel/emulator
export AMDKERNEL_EMULATOR_OPTIONS=step_limit=50000000,arena_mb=64,threads=2,arch=gfx942
python3 -c 'import platform; print(platform.machine())' >$OUT/machine
python3 run_examples.py >$OUT/left
"""
INSTRUCTIONS = (
    "test_valu_f32", "test_valu_f64_f16", "test_valu_int", "test_vopc", "test_mode", "test_lds",
    "test_loads_and_stores", "test_atomics", "test_mfma",
)  # fmt: skip


@pytest.fixture(scope="module")
def portable(sandbox: Sandbox, settings: Settings) -> Iterator[str]:
    daemon = connect(settings.docker_host)
    with portable_image(daemon, sandbox.image_id) as image:
        yield image
    daemon.close()


@pytest.fixture(scope="module")
def aarch64(sandbox: Sandbox, settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    daemon = connect(settings.docker_host)
    with aarch64_image(daemon, sandbox.image_id, settings, tmp_path_factory.mktemp("arm64")) as image:
        yield image
    daemon.close()


def passed_in(image: str, *arguments: str) -> int:
    """How many tests of the folder `emulator` passed in this image. None may fail."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["TESTED_SANDBOX_IMAGE"] = image
    done = subprocess.run(command, cwd=TESTS, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout[-1000:]
    return int(passed[1])


def files(*names: str) -> list[str]:
    return [f"{name}.py" for name in names]


def test_every_instruction_is_right_without_the_vectors_of_x86(portable: str) -> None:
    assert passed_in(portable, *files(*INSTRUCTIONS, "test_compiled_runs")) > 40


def test_single_precision_is_right_on_aarch64(aarch64: str) -> None:
    assert passed_in(aarch64, *files("test_valu_f32")) == 1


def test_kernels_of_the_examples_leave_the_same_bytes_on_aarch64(
    sandbox: Sandbox, aarch64: str, settings: Settings
) -> None:
    sources = {f"{name}.hip": (EXAMPLES / name / "kernels" / "better.hip").read_bytes() for name in KERNELS}
    compiled = sandbox.run("compile", ["sh", "-c", COMPILE], sources, timeout_s=600)
    assert compiled.exit_code == 0, compiled.stderr
    given = {**compiled.files, "run_examples.py": (HERE / "run_examples.py").read_bytes()}
    here = sandbox.run("run", ["sh", "-c", RUN], given, timeout_s=600)
    other = DockerSandbox(connect(settings.docker_host), aarch64)
    there = other.run("run", ["sh", "-c", RUN], given, timeout_s=600)
    other.close()
    assert here.exit_code == there.exit_code == 0, here.stderr + there.stderr
    assert len(here.files["left"].splitlines()) == len(KERNELS)
    assert there.files["left"] == here.files["left"]
    assert (here.files["machine"], there.files["machine"]) == (b"x86_64\n", b"aarch64\n")
