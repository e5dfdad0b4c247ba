"""A problem's arguments as the parameters of a kernel."""

from __future__ import annotations

from amdkernel_mcp.problems.problem import Argument, Problem

C_TYPES = {
    "f16": "_Float16", "bf16": "__hip_bfloat16", "f32": "float", "f64": "double",
    "i8": "signed char", "i16": "short", "i32": "int", "i64": "long long",
    "u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned", "u64": "unsigned long long",
}  # fmt: skip
_BYTE = "unsigned char"  # an 8-bit float: HIP's types for it differ between architectures


def signature(problem: Problem) -> str:
    """For instance `const float* x, float* y, int rows`."""
    return ", ".join(_parameter(argument) for argument in problem.arguments)


def _parameter(argument: Argument) -> str:
    type_name = C_TYPES.get(argument.dtype.name, _BYTE)
    if argument.role == "scalar":
        return f"{type_name} {argument.name}"
    return f"{'const ' if argument.role == 'in' else ''}{type_name}* {argument.name}"
