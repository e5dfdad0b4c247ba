"""HIP C++: `// amdkernel:` lines, clang, DWARF."""

from collections.abc import Collection, Mapping

from amdkernel_mcp.compiler.hip import HIP as COMPILER
from amdkernel_mcp.compiler.toolchain import Toolchain
from amdkernel_mcp.launch.lines import read_launch_plan
from amdkernel_mcp.launch.plan import LaunchPlan
from amdkernel_mcp.problems.problem import Problem


class Hip:
    """Implements `Language`: whatever no other language takes."""

    name = "HIP"
    options: Collection[str] = ()
    words: Mapping[str, str] = {}

    def speaks(self, source: str, file_name: str) -> bool:
        """Any text: for other text, clang has messages."""
        del source, file_name
        return True

    def read_plan(self, source: str, problem: Problem | None = None) -> LaunchPlan:
        """See `Language`."""
        return read_launch_plan(source, problem)

    def fixed(self, values: Mapping[str, str]) -> str:
        """See `Language`."""
        return "// amdkernel: build " + " ".join(f"-D{name}={value}" for name, value in values.items())

    def toolchain(self, plan: LaunchPlan, problem: Problem | None) -> Toolchain:
        """See `Language`."""
        del plan, problem
        return COMPILER
