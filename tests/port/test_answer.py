"""What an agent reads of a port: two kilobytes, with the lines to look at; the rest is in a file."""

import json
from pathlib import Path

import pytest

from amdkernel_mcp.execution.runner.program_files import Program
from amdkernel_mcp.port.answer import answer_of, hits_of, suspects
from amdkernel_mcp.port.compare import Said, difference
from amdkernel_mcp.port.functions import kernel_lines
from amdkernel_mcp.port.lint_classes import CLASSES
from amdkernel_mcp.port.port import Ported, Wanted
from amdkernel_mcp.port.sources import CudaProgram, large_sizes
from amdkernel_mcp.port.verify import RunHints, plain_name, where_time_went
from amdkernel_mcp.results.kernels import Diagnostic
from amdkernel_mcp.results.port import PortChange, PortResult
from amdkernel_mcp.runner_protocol.records import DispatchRecord
from amdkernel_mcp.server.delivery.truncate import size, truncate
from tests.port.programs import WAVE64

SOURCE = "\n".join(WAVE64.values())


def test_an_answer_has_two_kilobytes_with_the_verdict_and_the_first_suspect(tmp_path: Path) -> None:
    hits = hits_of(CudaProgram("a.cu", {"a.cu": SOURCE}))
    found = suspects(hits, keep_warps=False)
    whole = PortResult(
        verdict="wave64_mistake",
        reason="right on waves of 32, wrong on waves of 64: line 3",
        suspects=found,
        lint=hits,
        by_hand=["ptx: 3 places"] * 20,
        changes=[PortChange(what="mask of all lanes left out", times=3, line=1)] * 9,
        diagnostics=[Diagnostic(severity="warning", message="w" * 300, line=3)] * 9,
        diff="+" * 20_000,
        sources={"a.hip": SOURCE * 9},
    )
    short = truncate(whole, tmp_path)
    assert size(short) <= 2048
    assert (short.verdict, short.reason) == ("wave64_mistake", whole.reason)
    assert short.suspects[0].line == found[0].line
    assert json.loads(Path(short.artefacts[0].path).read_text())["sources"] == whole.sources


def test_each_library_that_is_left_by_hand_has_its_counterpart_and_line() -> None:
    text = "#include <cufft.h>\n#include <cusparse.h>\n__global__ void k(float* x) { x[0] = tex2D<float>(t, 1, 2); }"
    program = CudaProgram("a.cu", {"a.cu": text})
    wanted = Wanted(program, keep_warps=True, archs=("gfx942",))
    left = answer_of(wanted, Ported(Program("a", "a", {}, {})), None, target="emulator:gfx942").by_hand
    assert [each.partition(":")[0] for each in left] == ["library", "library", "texture"]
    for line, (says, each) in enumerate(zip(("hipfftPlan1d", "hipsparseSpMV", "plain loads"), left, strict=True), 1):
        assert f"(line {line})" in each
        assert says in each


def test_each_class_of_waves_has_a_place_among_the_suspects() -> None:
    hits = hits_of(CudaProgram("a.cu", {"a.cu": "__global__ void k() { unsigned b = __ballot(1); }"}))
    for kind in (kind for kind, each in CLASSES.items() if each.wave):
        assert suspects([hits[0].model_copy(update={"kind": kind})], keep_warps=False), kind


def test_output_that_was_cut_is_compared_as_far_as_both_go() -> None:
    lines = [f"{number}: {number * 3}" for number in range(50)]
    whole, shorter = "\n".join(lines), "\n".join(lines[:40]) + "\n4"
    assert difference(Said(0, whole, {}), Said(0, shorter, {})) is not None
    assert difference(Said(0, whole, {}, cut=True), Said(0, shorter, {}, cut=True)) is None
    wrong = shorter.replace("20: 60", "20: 61")
    assert "20: 61" in (difference(Said(0, whole, {}, cut=True), Said(0, wrong, {}, cut=True)) or "")


def test_a_run_that_did_not_end_says_where_its_time_went() -> None:
    launch = DispatchRecord.model_construct(kernel="sweep", grid=(64, 1, 1), block=(256, 1, 1), seconds=4.0)
    of_kernels = where_time_went([launch, launch], 10.0)
    program = CudaProgram(
        "a.cu", {"a.cu": "#define N (1 << 20)\nconst int rows = 4;\nint main(int c, char** argv) { atoi(argv[1]); }"}
    )
    hints = RunHints(kernel_lines("\n__global__ void sweep(int* x) {}"), large_sizes(program, ("4096", "9")))
    with_hints = where_time_went([launch.model_copy(update={"kernel": "_Z5sweepPi"})], 5.0, hints)
    assert "1 launch of sweep took 4.0 s of 5 s (grid 64x1x1, block 256x1x1, line 2)" in with_hints
    assert "or with define (its arguments are 4096 9, N is 1048576), or give" in with_hints
    assert of_kernels.startswith("2 launches of sweep took 8.0 s of 10 s (grid 64x1x1, block 256x1x1): make it smaller")
    assert "the rest is the host's code" in where_time_went([launch], 10.0)
    assert "kernels took 0.0 s of 10 s" in where_time_went([], 10.0)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("_Z11pnpoly_basePiPK15HIP_vector", "pnpoly_base"),
        ("_ZN2ns3sumIfEEvPT_", "sum"),
        ("plain", "plain"),
        ("_Z9", "_Z9"),
    ],
)
def test_a_kernel_has_the_name_of_the_source(name: str, plain: str) -> None:
    assert plain_name(name) == plain
