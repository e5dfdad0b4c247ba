"""Kernels of CUDA sources as candidates: the host's arithmetic, drafts of problems, and what a check says."""

from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.engine.verbs.port import Port, PortOptions
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.port.candidate import make_candidate
from amdkernel_mcp.port.cuda_names import CudaNames
from tests.port.programs import EXTENSION, TWO_KERNELS

NAMES = CudaNames.of(["hipMalloc"])
HOST = "__global__ void k(float* x, int n, int m) {{}}\nvoid f(int N, int M) {{ {} k<<<{}>>>(x, N, M); }}"


@pytest.mark.parametrize(
    ("before", "launch", "plan"),
    [
        ("", "(N + 255) / 256, 256", "grid=[(n + 255) // 256] block=[256] lds=0"),
        ("int t = 128; int b = (N + t - 1) / t;", "b, t", "grid=[(n + 128 - 1) // 128] block=[128] lds=0"),
        ("dim3 g((N + 15) / 16, M, 2); dim3 t(16, 16);", "g, t", "grid=[(n + 15) // 16, m, 2] block=[16, 16] lds=0"),
        ("", "ceil((float)N / 64), 64, 64 * sizeof(float)", "grid=[ceil_div(n, 64)] block=[64] lds=64*4"),
        ("", "dim3(std::min(N, 80)), dim3(32, 8), 0, s", "grid=[min(n, 80)] block=[32, 8] lds=0"),
        (
            "dim3 t(32, 8), g; g.x = (unsigned int)ceil(N / (float)t.x);",
            "g, t",
            "grid=[ceil_div(n, 32), 1, 1] block=[32, 8] lds=0",
        ),
        ("size_t lds = 4 * M * sizeof(double);", "N, 64, lds", "grid=[n] block=[64] lds=(4*m*8)"),
    ],
)
def test_the_arithmetic_of_the_host_becomes_a_plan(before: str, launch: str, plan: str) -> None:
    made = make_candidate(HOST.format(before, launch), NAMES, "k")
    assert made.text.splitlines()[0] == f"// amdkernel: launch k {plan}"


def test_what_no_plan_can_have_is_left_by_hand() -> None:
    made = make_candidate(HOST.format("", "blocks_for(N), 64"), NAMES, "k")
    assert any("blocks_for()" in each for each in made.by_hand)


def test_a_kernel_that_is_not_launched_is_refused_with_those_that_are() -> None:
    with pytest.raises(InputError) as error:
        make_candidate(TWO_KERNELS, NAMES, "scan")
    assert error.value.hint == "it launches transpose, sum_rows"


def test_the_draft_has_the_shapes_that_the_host_allocates() -> None:
    made = make_candidate(TWO_KERNELS, NAMES, "transpose")
    assert 'name = "in_"\ndtype = "f32"\nshape = ["height * width"]\nrole = "in"' in made.problem
    assert "width = 50\nheight = 70" in made.problem
    assert "def reference(in_, *, width, height):" in made.reference
    assert "sum_rows" not in made.text


REFERENCES = {
    "transpose": (TWO_KERNELS, 'return {"out": in_.reshape(height, width).T.reshape(-1)}'),
    "sum_rows": (TWO_KERNELS, 'return {"y": x.reshape(rows, cols).astype("f8").sum(axis=1)}'),
    "relu": (EXTENSION, 'return {"out": np.maximum(x, 0)}'),
}


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "kernel", [each if each == "sum_rows" else pytest.param(each, marks=pytest.mark.thorough) for each in REFERENCES]
)
def test_a_kernel_is_correct_as_a_candidate_on_waves_of_64(settings: Settings, tmp_path: Path, kernel: str) -> None:
    source, body = REFERENCES[kernel]
    engine = Engine(settings)
    try:
        made = engine.do(Port(source=source, options=PortOptions(candidate=kernel, with_sources=True)))
        assert made.verdict == "compiles", made.reason
        for name, text in made.sources.items():
            (tmp_path / name).write_text(text)
        head = made.sources["reference.py"].partition("    raise")[0]
        (tmp_path / "reference.py").write_text(f"{head}    {body}\n")
        checked = engine.do(
            Check(problem=str(tmp_path), source=made.sources[f"{kernel}.hip"], target="emulator:gfx942")
        )
    finally:
        engine.close()
    assert checked.verdict == "correct", checked.reason
