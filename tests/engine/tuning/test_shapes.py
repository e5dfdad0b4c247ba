"""The table of shapes: which rows are used, and what is refused with its line."""

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.engine.tuning.shapes import MAX_BYTES, MOST_SHAPES, read_shapes
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.problems.size_limits import DEFAULT_LIMITS


@pytest.fixture(scope="module")
def gemm() -> Problem:
    return load_problem(folder("examples") / "gemm_f16")


def names(text: str, problem: Problem) -> list[str]:
    return [case.name for case in read_shapes(text, problem, DEFAULT_LIMITS).cases]


def test_a_table_of_aiter_is_read_and_what_is_not_of_the_problem_is_said(gemm: Problem) -> None:
    text = "cu_num,M,N,K,bias,dtype\n80,1,1280,8192,False,torch.float16\n80,32,64,128,False,torch.bfloat16\n"
    table = read_shapes(text, gemm, DEFAULT_LIMITS)
    assert [case.name for case in table.cases] == ["m=1, n=1280, k=8192"]
    assert table.columns == ("m", "n", "k")
    assert table.notes == (
        "1 row of dtype bf16 left out: the inputs of gemm_f16 are f16",
        "1 shape outside the [ranges] of gemm_f16, where a check tries nothing: m=1, n=1280, k=8192",
        "columns without a size of gemm_f16: cu_num, bias",
    )


def test_a_shape_counts_once_and_empty_lines_do_not_count(gemm: Problem) -> None:
    assert names("\ufeffK, N ,M\n\n8,16,32\n8,16,32\r\n , ,\n16,16,32\n", gemm) == [
        "m=32, n=16, k=8",
        "m=32, n=16, k=16",
    ]


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        ("", "no column of a size", 1),
        ("a,b\n1,2\n", "no column of a size", 1),
        ("m,n,k,M\n1,2,3,4\n", "the column 'm' twice", 1),
        ("m,n\n1,2\n", "no column k", None),
        ("m,n,k\n1,2\n", "the row has 2 cells, the heading 3", 2),
        ("m,n,k\n1,2,3\n1,-2,3\n", "n is '-2', not a whole number", 3),
        ("m,n,k\n1,2,3.5\n", "k is '3.5', not a whole number", 2),
        ("m,n,k\n1,2,99999999999\n", "k does not fit into i32", 2),
        ("m,n,k\n60000,60000,8\n", "more than 512 MiB", 2),
        ("m,n,k\n0,2,3\n", "m=0", 2),
        ("m,n,k,dtype\n1,2,3,f32\n", "no shape for this problem", None),
        ('m,n,k\n"1,2,3\n', "this is not CSV", 2),
        ("m,n,k\n" + "1,2,3\n" * MAX_BYTES, "at most", None),
        ("m,n,k\n" + "".join(f"1,2,{k}\n" for k in range(1, MOST_SHAPES + 2)), "65 shapes; 64 are allowed", None),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_with_its_line(text: str, said: str, line: int | None, gemm: Problem) -> None:
    with pytest.raises(InputError, match=said) as raised:
        read_shapes(text, gemm, DEFAULT_LIMITS)
    assert raised.value.line == line
