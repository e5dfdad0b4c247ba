"""The sentence that leads to a kernel, for a text that has none, or none with a plan."""

from __future__ import annotations

import re

_EXAMPLE = "`// amdkernel: launch NAME grid=[ceil_div(n, 256)] block=[256]`"
_LONGEST_PATH = 500
_PATH = re.compile(r"[\w~./\\ -]+\.(?:hip|cu|cuh|cpp|cc|cxx|h|hpp|py|txt)", re.ASCII)
_PYTHON = re.compile(r"^\s*(?:import \w|from [\w.]+ import |@triton\b|def \w+\(.*\)(?: -> .+)?:\s*$)", re.MULTILINE)
_CHEVRONS = re.compile(r"(\w+)\s*(?:<[^<>;]*>)?\s*<<<")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def why_no_plan(source: str) -> str:
    """Why this text has no launch plan, and what to send in its place."""
    if len(source) <= _LONGEST_PATH and _PATH.fullmatch(source.strip()):
        return f"`source` is a path, {source.strip()!r}, not the text of a kernel: give the path as `path`"
    text = _COMMENT.sub(" ", source)
    has_kernel = "__global__" in text
    if not has_kernel and _PYTHON.search(text):
        return (
            "this is Python without a kernel: send a HIP kernel, a `__global__` function, with a line such as"
            f" {_EXAMPLE}, or a file with `@triton.jit` functions"
        )
    if launched := _CHEVRONS.search(text):
        return (
            f"`{launched[1]}<<<...>>>` is host code, which does not run here: leave it out and say in a comment how the"
            f" kernel is launched: {_EXAMPLE.replace('NAME', launched[1])}"
        )
    if not has_kernel:
        return f"the source has no kernel: send a `__global__` function and a line such as {_EXAMPLE}"
    return f"the candidate has no launch plan: add a line such as {_EXAMPLE}"


def constant_hint(source: str, name: str) -> str:
    """For a name of a plan that the source alone knows; empty where it does not."""
    word = re.escape(name)
    found = re.search(rf"#\s*define\s+{word}\s+(.+)|\bconst(?:expr)?\b[^;\n]*\b{word}\s*=\s*([^;,\n]+)", source)
    if found is None:
        return ""
    value = (found[1] or found[2]).partition("//")[0].strip()
    number = f": write {value}" if re.fullmatch(r"[\w ()*+<-]{1,40}", value, re.ASCII) else ""
    return f"; a plan does not know the constants of the source{number}, or `// amdkernel: tune {name}=[...]`"
