"""A function of the host becomes a plan of all its launches, with workspaces for the arrays between them."""

import pytest

from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.port import Port, PortOptions
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.port.cuda_names import CudaNames
from amdkernel_mcp.port.several import candidate_of
from amdkernel_mcp.problems.problem_file import load_problem
from tests.port.host_functions import SOFTMAX_IN_THREE, SUM_IN_TWO

NAMES = CudaNames.of(["hipMalloc"])


def plan(text: str) -> list[str]:
    return [line.removeprefix("// amdkernel: ") for line in text.splitlines() if line.startswith("// amdkernel")]


def test_the_launches_of_main_are_one_plan_and_one_problem() -> None:
    made = candidate_of(SUM_IN_TWO, NAMES, "main")
    assert plan(made.text) == [
        "workspace part dtype=f32 shape=[(n + 256 - 1) // 256]",
        "launch parts grid=[(n + 256 - 1) // 256] block=[256] lds=0 args=[x, part, n]",
        "launch finish grid=[1] block=[32] lds=0 args=[part, out, (n + 256 - 1) // 256]",
    ]
    assert [line for line in made.problem.splitlines() if line.startswith(("name", "shape", "role"))] == [
        'name = "x"', 'shape = ["n"]', 'role = "in"', 'name = "out"', 'shape = ["1"]', 'role = "out"', 'name = "n"',
    ]  # fmt: skip
    assert "def reference(x, *, n):" in made.reference
    assert "int main" not in made.text


def test_an_array_that_is_added_to_between_launches_is_cleared_first() -> None:
    made = candidate_of(SOFTMAX_IN_THREE, NAMES, "softmax", load_problem("row_softmax"))
    lines = plan(made.text)
    assert lines[:3] == [
        "workspace most_between dtype=f32 shape=[rows]",
        "workspace sums_between dtype=f32 shape=[rows]",
        "launch clear_sums_between grid=[ceil_div(rows, 256)] block=[256] args=[sums_between, rows]",
    ]
    assert [line.split()[1] for line in lines[3:]] == ["row_max", "row_sum", "divide"]
    assert "args=[x, most_between, sums_between, y, rows, cols]" in lines[5]  # without the float of the host
    assert "float scale = 1.0f;" in made.text


def test_an_array_that_a_launch_writes_and_divides_again_is_a_workspace() -> None:
    again = SUM_IN_TWO.replace("part[blockIdx.x] = s[0];", "{ part[blockIdx.x] = s[0]; part[blockIdx.x] /= 2; }")
    assert again != SUM_IN_TWO
    assert "workspace part dtype=f32" in candidate_of(again, NAMES, "main").text
    same_name = again.replace("d_part", "part")  # `cudaMalloc(&part, ...)` adds nothing
    assert "workspace part dtype=f32" in candidate_of(same_name, NAMES, "main").text
    assert "workspace part" not in candidate_of(again.replace("/= 2", "+= 2"), NAMES, "main").text


STEPS = """__global__ void step(float* x, int d, int n) { x[blockIdx.x] += x[d]; }
int main()
{
    const int turns = 3;
    float* x; cudaMalloc(&x, 64 * sizeof(float));
    LOOP
}
"""


@pytest.mark.parametrize(
    ("loop", "distances"),
    [
        ("for (int k = 0; k < turns; k++) step<<<1, 64>>>(x, k, 64);", "012"),
        ("for (int k = 4; k > 0; k >>= 1) { step<<<1, 64>>>(x, k, 64); cudaDeviceSynchronize(); }", "421"),
        (
            "for (int k = 2; k <= 4; k *= 2)\n for (int j = k / 2; j > 0; j /= 2) { step<<<k, 64>>>(x, j, 64); }",
            "121",
        ),
    ],
)
def test_a_loop_with_a_known_number_of_turns_is_written_out(loop: str, distances: str) -> None:
    made = candidate_of(STEPS.replace("LOOP", loop), NAMES, "main")
    launched = [line for line in plan(made.text) if line.startswith("launch step")]
    after = STEPS.replace("LOOP", loop + "\n\n    step<<<1, 64>>>(x + 1, 0, 64);")
    with pytest.raises(InputError, match=rf"gets 'x\+1' \(line {8 + loop.count(chr(10))}\)"):
        candidate_of(after, NAMES, "main")
    assert [line.rpartition("args=[x, ")[2][0] for line in launched] == list(distances)


@pytest.mark.parametrize(
    "loop",
    [
        "for (int k = 0; k < n; k++) step<<<1, 64>>>(x, k, 64);",
        "for (int k = 0; k < 3; k++) { step<<<1, 64>>>(x, k, 64); std::swap(x, y); }",
        "for (int k = 0; k < 3; k++) { step<<<1, 64>>>(x, k, 64); x = y; }",
        "for (int k = 0; k < 1000; k++) step<<<1, 64>>>(x, k, 64);",
        "for (int k = 0; k < 3; k *= 2) step<<<1, 64>>>(x, k, 64);",
        "for (int k = 0; k < 3; k++) { int d = k + 1; step<<<1, 64>>>(x, d, 64); }",
        "for (;;) step<<<1, 64>>>(x, 1, 64);",
    ],
)
def test_a_loop_whose_turns_differ_or_are_not_known_is_refused_with_its_line(loop: str) -> None:
    with pytest.raises(InputError, match=r"in a loop \(line 6\)"):
        candidate_of(STEPS.replace("LOOP", loop), NAMES, "main")


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("    finish<<<1", "    do { finish<<<1, 32>>>(d_part, d_out, 1); } while (r > 0); finish<<<1", "in a loop"),
        ("(d_part, d_out", "(d_part + 1, d_out", "gets 'd_part"),
        ("finish<<<1", "gone<<<1", "no kernel gone"),
    ],
)
def test_what_no_plan_can_have_is_refused(before: str, after: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        candidate_of(SUM_IN_TWO.replace(before, after), NAMES, "main")


def test_a_function_without_a_launch_is_refused() -> None:
    with pytest.raises(InputError, match="f launches no kernel"):
        candidate_of(SUM_IN_TWO + "void f() {}", NAMES, "f")


@pytest.mark.sandbox
def test_several_launches_are_correct_in_one_command(settings: Settings) -> None:
    engine = Engine(settings)
    try:
        options = PortOptions(candidate="softmax", problem="row_softmax")
        checked = engine.do(Port(source=SOFTMAX_IN_THREE, options=options, target="emulator:gfx942"))
    finally:
        engine.close()
    assert checked.verdict == "correct", checked.reason
