"""Random programs compute on the emulated GPUs what the same C computes on this host, to the bit, at every level.

`RANDOM_PROGRAMS=500 RANDOM_SEED=1000 pytest tests/sandbox/random_programs` runs more of them. A failure names the seed.
"""

import os
from pathlib import Path

import pytest
from random_programs import source

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.soak]

HERE = Path(__file__).parent
COUNT = int(os.environ.get("RANDOM_PROGRAMS", "3"))
FIRST = int(os.environ.get("RANDOM_SEED", "1"))
BATCH = 16

# What LLVM 21 miscompiles, whatever runs the code. RDNA: copies of 32 bits through halves of registers ("true16"); on
# gfx1201 loads of bf16 from private memory, which it takes for the same in all lanes. CDNA: a constant -0 of f16 in the
# upper half of a register is stored as +0, so there is no such constant.
FLAGS = (
    "-std=c++20 -ffp-contract=off -mfma -mf16c -Xclang -target-feature -Xclang -real-true16"
    " -Wno-unused-command-line-argument"
)
GROUPS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "gfx942": (("gfx942",), ()),
    "all but gfx1201": (("gfx90a", "gfx942", "gfx950", "gfx1100"), ()),
    "gfx1201": (("gfx1201",), ("bf16",)),
}
BUILDS = [
    ("gfx942", "0"),
    ("gfx942", "3"),
    ("gfx1201", "1"),
    pytest.param("gfx942", "1", marks=pytest.mark.thorough),
    pytest.param("all but gfx1201", "3", marks=pytest.mark.thorough),
    pytest.param("all but gfx1201", "0", marks=pytest.mark.thorough),
    pytest.param("all but gfx1201", "1", marks=pytest.mark.thorough),
    pytest.param("gfx1201", "0", marks=pytest.mark.thorough),
    pytest.param("gfx1201", "3", marks=pytest.mark.thorough),
]

RUN = """
hipcc -O{level} {flags} {archs} programs.hip -o programs 2>errors || {{ tail -40 errors >&2; exit 1; }}
export LD_LIBRARY_PATH=/opt/amdkernel/emulator
for arch in {names}; do
    export AMDKERNEL_EMULATOR_OPTIONS=step_limit=100000000,arena_mb=256,arch=$arch
    timeout 120 ./programs >$OUT/$arch
done
exit 0
"""


def run(sandbox: Sandbox, text: str, level: str, archs: tuple[str, ...]) -> dict[str, str]:
    """What the program printed on each architecture."""
    flags = " ".join(f"--offload-arch={arch}" for arch in archs)
    script = RUN.format(level=level, flags=FLAGS, archs=flags, names=" ".join(archs))
    files = {file.name: file.read_bytes() for file in HERE.glob("*.h")} | {"programs.hip": text.encode()}
    done = sandbox.run("compile", ["sh", "-c", script], files, timeout_s=800)
    assert done.exit_code == 0, done.stderr
    return {arch: done.files[arch].decode() for arch in archs}


@pytest.mark.thorough
@pytest.mark.timeout(900 * (1 + COUNT // BATCH))
@pytest.mark.parametrize(("group", "level"), BUILDS)
def test_gpu_and_host_agree_on_random_programs(sandbox: Sandbox, group: str, level: str) -> None:
    archs, without = GROUPS[group]
    for first in range(FIRST, FIRST + COUNT, BATCH):
        seeds = range(first, min(first + BATCH, FIRST + COUNT))
        for arch, printed in run(sandbox, source(seeds, without), level, archs).items():
            assert printed.endswith(f"{len(seeds)} of {len(seeds)} programs agree\n"), f"{arch} -O{level}: {printed}"


@pytest.mark.thorough
def test_a_difference_is_told_with_its_seed(sandbox: Sandbox) -> None:
    kernel, host = source([7]).split("static void host_7", 1)
    wrong = "static void host_7" + host.replace("}\n\n#include", "    all[5].u32_1 ^= 4;\n}\n\n#include", 1)
    printed = run(sandbox, kernel + wrong, "1", ("gfx942",))["gfx942"]
    assert "seed 7: thread 5, u32_1:" in printed
    assert "0 of 1 programs agree" in printed
