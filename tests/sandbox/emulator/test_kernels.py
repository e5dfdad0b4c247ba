"""Whole kernels as hipcc makes them, unoptimised and optimised: right results, and no instruction unknown."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet
from waves import gpu_of

from amdkernel_mcp.execution.runner.coverage import coverage_of_files
from amdkernel_mcp.execution.sandbox import Completed, Sandbox
from tests.one_in import one_in

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

HERE = Path(__file__).parent
LEVELS = ("0", "1", "3")
ARCHS = {"gfx90a": "", "gfx942": "", "gfx950": "-DOCP", "gfx1100": "-DWAVE=32 -DOCP", "gfx1201": "-DWAVE=32 -DOCP"}
# HIP's headers refuse waves of 64 lanes on RDNA unless they take it for GFX9; the compiler makes them all the same.
WIDE = "-mwavefrontsize64 -DWAVE=64 -DOCP -D__GFX9__"
TARGETS = ARCHS | {"gfx1100/64": WIDE, "gfx1201/64": WIDE}
# The gate takes code of both kinds with waves of 64, and one target with waves of 32.
IN_GATE = {("gfx942", "3")}


def cases(targets: Iterable[str], levels: Iterable[str], *, long: bool = False) -> list[ParameterSet]:
    """Each level for each target. Of what takes long, the full gate has one in four, of all levels, and soak the rest."""
    every = [(target, level) for target in targets for level in levels]
    rest = [pytest.param(*one, marks=pytest.mark.thorough) for one in every if one not in IN_GATE]
    return [*(pytest.param(*one) for one in every if one in IN_GATE), *(one_in(4, rest) if long else rest)]


# RDNA3's ds_bpermute serves the halves of a wave of 64 one by one, and these shuffle across them (LLVM, GCNSubtarget).
ACROSS_HALVES = {"gfx1100/64": {"waves", "softmax"}}

RUN = """
export LD_LIBRARY_PATH=/opt/amdkernel/emulator AMDKERNEL_EMULATOR_OPTIONS=step_limit=50000000,arena_mb=256,arch={arch}
hipcc --offload-arch={arch} -O{level} {flags} -Wno-unused-command-line-argument kernels.hip -o kernels 2>&1 || exit 1
timeout 200 ./kernels >$OUT/printed
export AMDKERNEL_EMULATOR_OPTIONS=$AMDKERNEL_EMULATOR_OPTIONS,interpreted=1
GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F timeout 200 ./kernels >$OUT/without_avx512
"""

RUN_ON_GPU = """
hipcc --offload-arch={arch} -O{level} {flags} -Wno-unused-command-line-argument kernels.hip -o kernels 2>&1 || exit 1
timeout 200 ./kernels >$OUT/printed
"""

COMPILE = """
hipcc --offload-arch={arch} {flags} -O{level} --offload-device-only --no-gpu-bundle-output kernels.hip -o $OUT/kernels.co
"""


def kernels() -> dict[str, bytes]:
    return {"kernels.hip": (HERE / "kernels.hip").read_bytes()}


@pytest.mark.parametrize(("target", "level"), cases(TARGETS, LEVELS, long=True))
def test_every_kernel_of_the_corpus_is_right(sandbox: Sandbox, target: str, level: str) -> None:
    arch = target.split("/")[0]
    gpu = gpu_of(arch)
    script = (RUN_ON_GPU if gpu else RUN).format(arch=arch, level=level, flags=TARGETS[target])
    done: Completed = (gpu or sandbox).run("run" if gpu else "compile", ["sh", "-c", script], kernels(), timeout_s=500)
    for build in ("printed", "without_avx512")[: 1 if gpu else 2]:  # the second: another build, and no compiled runs
        assert build in done.files, done.stderr
        check_answers(target, f"{target} -O{level} {build}", done.files[build].decode().splitlines(), done.stderr)


def check_answers(target: str, run: str, lines: list[str], errors: str) -> None:
    said = dict(line.split("=", 1) for line in lines)
    assert "waiting" in said, f"{run} stopped early: {lines[-1:]} {errors}"
    wrong = {name: answer for name, answer in said.items() if not answer.startswith("ok")}
    wrong = {name: answer for name, answer in wrong.items() if name not in ACROSS_HALVES.get(target, set())}
    assert not wrong, f"{run}: {wrong}"
    assert len(said) > 35


@pytest.mark.parametrize(("arch", "level"), cases(ARCHS, ("0", "1", "2", "3")))
def test_no_instruction_that_the_compiler_emits_is_unknown(sandbox: Sandbox, arch: str, level: str) -> None:
    script = COMPILE.format(arch=arch, level=level, flags=ARCHS[arch])
    compiled = sandbox.run("compile", ["sh", "-c", script], kernels(), timeout_s=500)
    assert compiled.exit_code == 0, compiled.stderr
    report = coverage_of_files(sandbox, compiled.files)
    assert len(report.files) == 1
    missing = {found.file: image.missing for found in report.files for image in found.images if not image.complete}
    assert not missing
