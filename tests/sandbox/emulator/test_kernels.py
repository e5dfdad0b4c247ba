"""Whole kernels as hipcc makes them, unoptimised and optimised: right results, and no instruction unknown."""

from pathlib import Path

import pytest

from amdkernel_mcp.execution.emulator_coverage import coverage_of_files
from amdkernel_mcp.execution.sandbox import Completed, Sandbox

pytestmark = pytest.mark.sandbox

HERE = Path(__file__).parent
LEVELS = ("0", "1", "3")
ARCHS = {"gfx90a": "", "gfx942": "", "gfx950": "", "gfx1100": "-DWAVE=32 -DOCP", "gfx1201": "-DWAVE=32 -DOCP"}
CASES = [(arch, level) for arch in ARCHS for level in LEVELS]

RUN = """
export LD_LIBRARY_PATH=/opt/amdkernel/emulator AMDKERNEL_EMULATOR_OPTIONS=step_limit=50000000,arena_mb=256,arch={arch}
hipcc --offload-arch={arch} -O{level} {flags} -Wno-unused-command-line-argument kernels.hip -o kernels 2>&1 || exit 1
timeout 60 ./kernels >$OUT/printed
"""

COMPILE = """
set -e
for level in 0 1 2 3; do
  hipcc --offload-arch={arch} {flags} -O$level --offload-device-only --no-gpu-bundle-output kernels.hip -o $OUT/O$level.co
done
"""


def kernels() -> dict[str, bytes]:
    return {"kernels.hip": (HERE / "kernels.hip").read_bytes()}


@pytest.mark.parametrize(("arch", "level"), CASES)
def test_every_kernel_of_the_corpus_is_right(sandbox: Sandbox, arch: str, level: str) -> None:
    script = RUN.format(arch=arch, level=level, flags=ARCHS[arch])
    done: Completed = sandbox.run("compile", ["sh", "-c", script], kernels(), timeout_s=110)
    assert "printed" in done.files, done.stderr
    lines = done.files["printed"].decode().splitlines()
    said = dict(line.split("=", 1) for line in lines)
    assert "waiting" in said, f"{arch} -O{level} stopped early: {lines[-1:]} {done.stderr}"
    wrong = {name: answer for name, answer in said.items() if not answer.startswith("ok")}
    assert not wrong, f"{arch} -O{level}: {wrong}"
    assert len(said) > 35


@pytest.mark.parametrize("arch", ARCHS)
def test_no_instruction_that_the_compiler_emits_is_unknown(sandbox: Sandbox, arch: str) -> None:
    script = COMPILE.format(arch=arch, flags=ARCHS[arch])
    compiled = sandbox.run("compile", ["sh", "-c", script], kernels(), timeout_s=110)
    assert compiled.exit_code == 0, compiled.stderr
    report = coverage_of_files(sandbox, compiled.files)
    assert len(report.files) == 4
    missing = {found.file: image.missing for found in report.files for image in found.images if not image.complete}
    assert not missing
