"""`amdkernel run --profile`: every kernel of an unmodified program, with its share and its diagnosis."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_command import amdkernel_run

pytestmark = pytest.mark.sandbox

PROGRAM = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
template <typename T> __global__ void scale(T* x, T by) { x[blockIdx.x * 256 + threadIdx.x] *= by; }
__global__ void transpose(const float* in, float* out, int n) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}
__global__ void follow(const int* next, int* at, int steps) {
    int i = threadIdx.x;
    for (int s = 0; s < steps; s++) i = next[i];
    at[threadIdx.x] = i;
}
int main(int, char** words) {
    const int n = 512, times = std::atoi(words[1]);
    float *a, *b;
    int *next, *at;
    if (hipMalloc(&a, n * n * 4) || hipMalloc(&b, n * n * 4) || hipMalloc(&next, 256) || hipMalloc(&at, 256)) return 90;
    if (hipMemset(a, 0, n * n * 4) || hipMemset(next, 0, 256)) return 91;
    for (int k = 0; k < times; k++) scale<float><<<4, 256>>>(a, 1.5f);
    scale<float><<<n * n / 256, 256>>>(a, 1.5f);
    transpose<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(a, b, n);
    follow<<<1, 64>>>(next, at, 1000);
    std::printf("done\\n");
    return hipDeviceSynchronize() ? 92 : 7;
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("program") / "steps.hip"
    file.write_text(PROGRAM)
    return file


@pytest.mark.thorough
def test_every_kernel_has_a_row_and_the_program_is_as_without(source: Path) -> None:
    ended = amdkernel_run("--profile", source, "5")
    assert (ended.returncode, ended.stdout) == (7, "done\n"), ended.stderr
    rows = " ".join(ended.stderr.split())
    assert "8 launches of 3 kernels" in rows
    for words in ("scale<float> 6", "transpose: Stores are not coalesced", "follow 1", "8 (wave_slots)", "us"):
        assert words in rows, ended.stderr


@pytest.fixture(scope="module")
def answer(source: Path) -> dict[str, Any]:
    ended = amdkernel_run("--profile", "--json", source, "2000")
    assert "done" in ended.stderr, "the program's own output makes room for the answer"
    return json.loads(ended.stdout)


def kernel(answer: dict[str, Any], name: str) -> dict[str, Any]:
    [found] = [each for each in answer["kernels"] if name in each["name"]]
    return found


def test_all_launches_of_a_kernel_weigh_and_few_are_kept(answer: dict[str, Any]) -> None:
    scale, follow = kernel(answer, "scale<float>"), kernel(answer, "follow(")
    assert 1970 <= scale["launches"] <= 2001, "of more than a thousand launches the count may be 2 % short"
    assert (scale["shapes"], follow["launches"]) == (2, 1)
    assert sum(each["share"] for each in answer["kernels"]) == pytest.approx(1)
    assert answer["kernels"][0] is scale
    assert scale["share"] > 0.9, "2,000 launches cost 2,000 launches"
    assert scale["modelled_us"]["low"] > 2000 * 2
    assert scale["profile"]["dispatches"] < 10, "a few of them are counted in full"


def test_hot_lines_are_those_of_the_users_file(answer: dict[str, Any]) -> None:
    line = kernel(answer, "follow(")["profile"]["hot_lines"][0]
    assert line["source"].startswith("for (int s = 0;")
    assert PROGRAM.splitlines()[line["line"] - 1].strip() == line["source"]
    assert line["file"].endswith("steps.hip")


def test_a_chain_of_loads_in_a_loop_waits_for_each_of_them(answer: dict[str, Any]) -> None:
    """Compilers put the wait at the head of such a loop, before the load that it is for."""
    follow = kernel(answer, "follow(")
    assert follow["profile"]["metrics"]["waits_for_memory"]["value"] == 1001
    assert follow["modelled_us"]["high"] > 1000 * 0.08, "1,000 hits of the vL1D, one after the other"
    assert any("Latency is exposed" in row["finding"] for row in follow["diagnosis"])


@pytest.mark.thorough
def test_a_kernel_by_name_shows_all_about_it(source: Path) -> None:
    ended = amdkernel_run("--profile", "--kernel", "transpose", source, "1")
    assert "out[x * n + y] = in[y * n + x];" in ended.stderr, "its hot lines"
    assert "because" in ended.stderr
    assert "● transpose: Stores are not coalesced" in ended.stderr
    assert "scale<float>: " not in ended.stderr


@pytest.mark.thorough
def test_a_program_without_kernels_says_so(tmp_path: Path) -> None:
    file = tmp_path / "plain.hip"
    file.write_text("int main() { return 3; }\n")
    ended = amdkernel_run("--profile", "--kernel", "nothing", file)
    assert (ended.returncode, "the program launched no kernel" in ended.stderr) == (3, True), ended.stderr
    assert "no kernel with 'nothing' in its name; its kernels: none" in ended.stderr


def test_sources_that_do_not_compile_are_an_error_in_json_too(tmp_path: Path) -> None:
    file = tmp_path / "wrong.hip"
    file.write_text("int main() { return nothing; }\n")
    ended = amdkernel_run("--profile", "--json", file)
    assert ended.returncode == 1
    assert json.loads(ended.stdout)["error"]["file"] == str(file)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--profile", "--races"], "not with --check, --races"),
        (["--kernel", "x"], "need --profile"),
        (["--profile", "--target", "local:0"], ""),
    ],
)
def test_what_does_not_go_together_is_refused(source: Path, options: list[str], said: str) -> None:
    ended = amdkernel_run(*options, source, "1")
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
