"""AMDGPU assembly (.s), and code objects that others compiled (.co, .hsaco, offload bundles)."""

import re
from collections.abc import Collection, Mapping

from amdkernel_mcp.compiler.assembly import ASSEMBLY
from amdkernel_mcp.compiler.given_object import GIVEN_OBJECT
from amdkernel_mcp.compiler.toolchain import Toolchain
from amdkernel_mcp.kernel_source import CODE_OBJECT
from amdkernel_mcp.launch.lines import Syntax, read_launch_plan
from amdkernel_mcp.launch.plan import LaunchPlan
from amdkernel_mcp.problems.problem import Problem

_DIRECTIVE = re.compile(r"^[ \t]*\.(?:amdhsa_kernel|amdgcn_target|amdgpu_metadata)\b", re.MULTILINE)
_COMMENT = "//|;|#"
_WORDS = {"__syncthreads()": "`s_barrier`", "atomicAdd": "`global_atomic_add`"}


class Assembly:
    """Implements `Language`."""

    name = "assembly"
    options: Collection[str] = ()
    words: Mapping[str, str] = _WORDS
    _lines = Syntax(
        comment=_COMMENT,
        example="; amdkernel: launch NAME grid=[ceil_div(n, 256)] block=[256]",
        check_flags=ASSEMBLY.check,
        c_pointers=False,
    )

    def speaks(self, source: str, file_name: str) -> bool:
        """A text with a directive that only AMDGPU assembly has."""
        del file_name
        return _DIRECTIVE.search(source) is not None

    def read_plan(self, source: str, problem: Problem | None = None) -> LaunchPlan:
        """See `Language`. `build -DNAME=1` and `tune` lines define symbols of the assembler."""
        return read_launch_plan(source, problem, self._lines)

    def fixed(self, values: Mapping[str, str]) -> str:
        """See `Language`."""
        return "; amdkernel: build " + " ".join(f"-D{name}={value}" for name, value in values.items())

    def toolchain(self, plan: LaunchPlan, problem: Problem | None) -> Toolchain:
        """See `Language`."""
        del plan, problem
        return ASSEMBLY


class CodeObject:
    """Implements `Language`."""

    name = "code object"
    options: Collection[str] = ()
    words: Mapping[str, str] = _WORDS
    _lines = Syntax(
        comment=_COMMENT,
        verbs=("launch", "workspace"),
        example="; amdkernel: launch NAME grid=[ceil_div(n, 256)] block=[256]` to a file next to it, `NAME.co.plan",
        c_pointers=False,
    )

    def speaks(self, source: str, file_name: str) -> bool:
        """The text that `read_kernel` makes of a code object."""
        del file_name
        return source.startswith(CODE_OBJECT) or f"\n{CODE_OBJECT}" in source

    def read_plan(self, source: str, problem: Problem | None = None) -> LaunchPlan:
        """See `Language`."""
        return read_launch_plan(source, problem, self._lines)

    def fixed(self, values: Mapping[str, str]) -> str:
        """Nothing: a code object has no `tune` lines."""
        del values
        return ""

    def toolchain(self, plan: LaunchPlan, problem: Problem | None) -> Toolchain:
        """See `Language`."""
        del plan, problem
        return GIVEN_OBJECT
