"""A kernel that compiles, has the right parameters and is launched for every output element, and computes nothing."""

from __future__ import annotations

from amdkernel_mcp.problems.problem import Argument, Problem
from amdkernel_mcp.problems.signature import signature

HEADERS = {"bf16": "hip/hip_bf16.h"}


def skeleton(problem: Problem) -> str:
    """The text of the kernel: one launch per output, one thread per element."""
    lines = [
        f"// amdkernel: launch compute_{each.name} grid=[ceil_div({count(each)}, 256)] block=[256]"
        for each in problem.outputs
    ]
    lines += includes(problem)
    for output in problem.outputs:
        lines += [
            "",
            "// TODO: compute the element; reference.py says what it is.",
            f'extern "C" __global__ void compute_{output.name}({signature(problem)})',
            "{",
            "    const long long i = blockIdx.x * 256LL + threadIdx.x;",
            f"    if (i < {in_c(count(output))})",
            f"        {output.name}[i] = 0;",
            "}",
        ]
    return "\n".join(lines) + "\n"


def includes(problem: Problem) -> list[str]:
    """The headers that the types of the arguments need."""
    headers = {HEADERS[each.dtype.name] for each in problem.arguments if each.dtype.name in HEADERS}
    return [f"#include <{header}>" for header in (*sorted(headers), "hip/hip_runtime.h")]


def count(argument: Argument) -> str:
    """How many elements an array has, as an expression over the scalars."""
    return product([dimension.text for dimension in argument.shape or ()])


def product(shape: list[str]) -> str:
    """The product of expressions."""
    factors = [f"({each})" if " " in each else each for each in shape if each != "1"]
    return " * ".join(factors) or "1"


def in_c(expression: str) -> str:
    """An expression of ours in C, in 64 bits; no number in a shape is negative."""
    text = expression.replace("//", "/")
    return f"1LL * {text}" if "*" in text else text
