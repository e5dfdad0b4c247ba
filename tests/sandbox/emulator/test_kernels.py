"""Whole kernels as hipcc makes them, unoptimised and optimised: right results, and no instruction unknown."""

from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Completed, Sandbox

pytestmark = pytest.mark.sandbox

HERE = Path(__file__).parent
EMULATOR = HERE.parents[2] / "sandbox" / "emulator"
LEVELS = ("0", "3")
ARCHS = {"gfx90a": "", "gfx942": "", "gfx950": "", "gfx1100": "-DWAVE=32 -DOCP", "gfx1201": "-DWAVE=32 -DOCP"}
CASES = [(arch, level) for arch in ARCHS for level in LEVELS]

RUN = """
export LD_LIBRARY_PATH=/opt/amdkernel/emulator AMDKERNEL_EMULATOR_OPTIONS=step_limit=50000000,arena_mb=256,arch={arch}
hipcc --offload-arch={arch} -O{level} {flags} -Wno-unused-command-line-argument kernels.hip -o kernels 2>&1 || exit 1
timeout 60 ./kernels >$OUT/printed
"""

DECODE = """
set -e
bin=$(ls -d /usr/lib/llvm-*/bin | sort -V | tail -1)
$bin/clang -std=gnu11 -O0 -march=x86-64-v3 -Iemulator coverage.c emulator/*.c emulator/isa/*.c -lm -ldl -pthread -o coverage
for level in 0 1 2 3; do
  hipcc --offload-arch={arch} {flags} -O$level --offload-device-only --no-gpu-bundle-output kernels.hip -o k$level.co
  $bin/llvm-objcopy -O binary --only-section=.text k$level.co k$level.text
done
./coverage {arch} k?.text | sort | uniq -c >$OUT/unknown
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
    files = {"coverage.c": (HERE / "coverage.c").read_bytes(), **kernels()}
    for path in [*EMULATOR.glob("*.[ch]"), *EMULATOR.glob("isa/*.[ch]"), *EMULATOR.glob("isa/*.def")]:
        files[f"emulator/{path.relative_to(EMULATOR)}"] = path.read_bytes()
    script = DECODE.format(arch=arch, flags=ARCHS[arch])
    done = sandbox.run("compile", ["sh", "-c", script], files, timeout_s=110)
    assert done.exit_code == 0, done.stderr
    assert done.files["unknown"].decode() == ""
