"""A program's command line and files."""

from pathlib import Path

import numpy as np
import pytest

from amdkernel_mcp.checking.cases.call import Call
from amdkernel_mcp.host_programs.contract import input_files, outputs_in, words_of
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.problems.problem_file import load_problem

DECLARED = """
[[arguments]]
name = "x"
dtype = "f32"
shape = ["n", 2]
role = "inout"
init = "normal"
[[arguments]]
name = "a"
dtype = "f32"
[[arguments]]
name = "y"
dtype = "i16"
shape = ["n"]
role = "out"
[[arguments]]
name = "n"
dtype = "i32"
[[cases]]
n = 3
a = 0.1
"""


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    (tmp_path / "problem.toml").write_text(DECLARED)
    (tmp_path / "reference.py").write_text("def reference(x, a, n):\n    return {}\n")
    return load_problem(tmp_path)


def call_of(problem: Problem) -> Call:
    return Call(problem.cases[0], 0, {"x": np.arange(6, dtype="f4").reshape(3, 2)})


def test_the_words_are_the_arguments_in_their_order_with_all_digits(problem: Problem) -> None:
    assert words_of(problem, problem.cases[0]) == ["x.bin", "0.10000000149011612", "y.bin", "3"]


def test_inputs_are_raw_bytes(problem: Problem) -> None:
    assert input_files(problem, call_of(problem)) == {"x.bin": np.arange(6, dtype="<f4").tobytes()}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"y.bin": bytes(6)}, {"x": np.arange(6, dtype="<f4").tobytes(), "y": bytes(6)}),
        ({"y.bin": bytes(6), "x.bin": bytes(24)}, {"x": bytes(24), "y": bytes(6)}),
        ({"y.bin": bytes(5)}, "it wrote 5 bytes to y.bin, not 6"),
        ({"x.bin": bytes(24)}, "it ended without writing y.bin"),
    ],
)
def test_outputs_are_files_of_the_right_size(problem: Problem, files: dict[str, bytes], expected: object) -> None:
    assert outputs_in(problem, call_of(problem), files) == expected
