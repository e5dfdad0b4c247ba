"""Compares the pointers of a kernel's text with the dtypes of the problem's arrays.

`float*` for an array of f16 reads past its end on a GPU that checks nothing. Only plain floating types are judged: an
integer pointer or a vector may read the same bytes on purpose, and so may a pointer that the kernel casts.
"""

from __future__ import annotations

import re

from amdkernel_mcp.launch.plan import Launch, LaunchPlan
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.problems.signature import C_TYPES
from amdkernel_mcp.results.kernels import Finding

_DTYPES = {
    "float": "f32", "double": "f64",
    "_Float16": "f16", "__half": "f16", "half": "f16", "__fp16": "f16",
    "__hip_bfloat16": "bf16", "hip_bfloat16": "bf16", "__bf16": "bf16",
}  # fmt: skip
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_POINTER = re.compile(
    r"(?:const\s+)?(?P<type>\w+)(?:\s+const)?\s*\*\s*(?:const\s+)?(?:__restrict(?:__)?\s+)?(?P<name>\w+)"
)


def wrong_pointers(source: str, plan: LaunchPlan, problem: Problem) -> list[Finding]:
    """A finding for each parameter whose floating type is not that of its array."""
    text = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    found = [finding for launch in plan.launches for finding in _of_launch(text, launch, plan, problem)]
    return list({finding.message: finding for finding in found}.values())  # a kernel may be launched twice


def _of_launch(text: str, launch: Launch, plan: LaunchPlan, problem: Problem) -> list[Finding]:
    parameters = list(re.finditer(rf"__global__[^;{{}}]*?\b{re.escape(launch.kernel)}\s*\(([^(){{}};]*)\)", text))
    if len(parameters) != 1:  # declared twice, by a macro, or a template's instance
        return []
    given = launch.args if launch.args is not None else tuple(argument.name for argument in problem.arguments)
    declared = parameters[0][1].split(",")
    if len(declared) != len(given):
        return []  # said with the parameters of the code object
    dtypes = {argument.name: argument.dtype.name for argument in problem.arrays}
    dtypes |= {space.name: space.dtype.name for space in plan.workspaces}
    findings, at = [], parameters[0].start(1)
    for item, parameter in zip(given, declared, strict=True):
        line = text.count("\n", 0, at + len(parameter) - len(parameter.lstrip())) + 1
        at += len(parameter) + 1
        pointer = _POINTER.fullmatch(parameter.strip())
        dtype = dtypes.get(item) if isinstance(item, str) else None
        if (
            pointer is None
            or dtype is None
            or dtype not in _DTYPES.values()
            or _DTYPES.get(pointer["type"], dtype) == dtype
        ):
            continue
        if _is_reinterpreted(text, pointer["type"], pointer["name"]):
            continue
        message = (
            f"parameter `{pointer['name']}` of {launch.kernel} is `{pointer['type']}*`, but the array `{item}` has the"
            f" dtype {dtype}: write `{C_TYPES[dtype]}*`"
        )
        findings.append(Finding(kind="launch_plan", message=message, line=line))
    return findings


def _is_reinterpreted(text: str, type_name: str, name: str) -> bool:
    """Whether the kernel takes the pointer's bytes as another type, or the type's name means another one here."""
    cast = rf"(?:>|\*)\s*\)?\s*\(\s*&?\s*{name}\b|\*\s*\)\s*\(?\s*&?\s*{name}\b|memcpy|\basm\b"
    renamed = rf"#\s*define\s+{type_name}\b|using\s+{type_name}\b|typedef[^;]*\b{type_name}\s*;"
    return bool(re.search(f"{renamed}|{cast}", text))
