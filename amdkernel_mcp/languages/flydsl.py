"""FlyDSL: a Python file with a `@flyc.jit` host function and `# amdkernel:` lines.

The host function has the grid, the block and what the kernel gets; a launch line names it and its arguments.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from amdkernel_mcp.compiler.flydsl import FlyDslCompiler, HostArgument
from amdkernel_mcp.compiler.toolchain import Toolchain
from amdkernel_mcp.expressions import Expression
from amdkernel_mcp.kernel_source import is_flydsl
from amdkernel_mcp.launch.lines import Syntax, read_launch_plan
from amdkernel_mcp.launch.plan import Launch, LaunchPlan
from amdkernel_mcp.problems.dtypes import DTYPES
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.results.kernels import Finding

_LINES = Syntax(
    comment="#",
    verbs=("launch", "workspace", "constexpr", "tune"),
    sizes=(),
    settings=("grid", "args", "types"),
    constants_in_launch=True,
    example="# amdkernel: launch NAME args=[x, y, n]",
    c_pointers=False,
)
_WORDS = {
    "__syncthreads()": "`fx.gpu.barrier()`",
    "check the index against the size before the access": "check the index against the size before the access; a "
    "`make_buffer_tensor` checks it with `max_size=False` alone",
}
_TYPE = re.compile(r"(\*?)(\w+)(?::([1-8]))?")


class FlyDsl:
    """Implements `Language`."""

    name = "FlyDSL"
    options: Collection[str] = ()
    words: Mapping[str, str] = _WORDS

    def speaks(self, source: str, file_name: str) -> bool:
        """A Python file that imports flydsl and has a jit function."""
        del file_name
        return is_flydsl(source)

    def read_plan(self, source: str, problem: Problem | None = None) -> LaunchPlan:
        """See `Language`. There is one launch: its host function makes one code object."""
        plan = read_launch_plan(source, problem, _LINES)
        return replace(plan, mistakes=(*plan.mistakes, *_mistakes(plan)))

    def fixed(self, values: Mapping[str, str]) -> str:
        """See `Language`."""
        return "# amdkernel: constexpr " + " ".join(f"{name}={value}" for name, value in values.items())

    def toolchain(self, plan: LaunchPlan, problem: Problem | None) -> Toolchain:
        """See `Language`."""
        if not plan.launches:
            return FlyDslCompiler("", ())
        launch = plan.launches[0]
        used = {name for each in _expressions(plan) for name in each.names}
        return FlyDslCompiler(launch.kernel, _host_arguments(launch, plan, problem), tuple(sorted(used)))


def _mistakes(plan: LaunchPlan) -> Iterator[Finding]:
    for launch in plan.launches[1:]:
        message = f"launch {launch.kernel}: a candidate in FlyDSL has one launch line, and its host function one launch"
        yield Finding(kind="launch_plan", message=message, line=launch.line)
    for name, _ in plan.computed:
        message = f"constexpr {name}: FlyDSL's constants have one value for all cases"
        yield Finding(kind="launch_plan", message=message, line=plan.launches[0].line if plan.launches else None)
    for launch in plan.launches:
        for text in launch.types or ():
            if _written(text) is None:
                known = f"known: {', '.join(DTYPES)}, and arrays such as *f32, or *f32:2 with two dimensions"
                message = f"launch {launch.kernel}: no type is {text!r}; {known}"
                yield Finding(kind="launch_plan", message=message, line=launch.line)


def _expressions(plan: LaunchPlan) -> Iterator[Expression]:
    for launch in plan.launches:
        yield from launch.grid
        yield from (item for item in launch.args or () if isinstance(item, Expression))
    for space in plan.workspaces:
        yield from space.shape


def _written(text: str) -> HostArgument | None:
    """A type of a launch line: `*f32:2` is an array with two dimensions."""
    found = _TYPE.fullmatch(text)
    if found is None or found[2] not in DTYPES or (found[3] and not found[1]):
        return None
    return HostArgument(found[2], int(found[3] or 1)) if found[1] else _scalar(found[2])


def _scalar(dtype: str) -> HostArgument:
    return HostArgument(is_float=DTYPES[dtype].kind == "float")


def _host_arguments(launch: Launch, plan: LaunchPlan, problem: Problem | None) -> tuple[HostArgument, ...] | None:
    """What the host function is traced with; None where neither the line nor a problem says it."""
    if launch.types is not None:
        return tuple(_written(text) or HostArgument() for text in launch.types)
    if problem is None:
        return None
    arrays = {each.name: HostArgument(each.dtype.name, len(each.shape or ())) for each in problem.arrays}
    arrays |= {space.name: HostArgument(space.dtype.name, len(space.shape)) for space in plan.workspaces}
    given: Sequence[str | Expression] = launch.args or tuple(each.name for each in problem.arguments)
    return tuple(_host_argument(item, arrays, problem) for item in given)


def _host_argument(item: str | Expression, arrays: Mapping[str, HostArgument], problem: Problem) -> HostArgument:
    if not isinstance(item, str):
        return HostArgument()
    argument = problem.argument(item)
    return arrays.get(item) or (_scalar(argument.dtype.name) if argument else HostArgument())
