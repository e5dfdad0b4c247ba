"""Triton and Gluon: a Python file with `@triton.jit` or `@gluon.jit` functions and `# amdkernel:` lines.

What Triton's launcher would decide at run time is decided from the problem: the types of the arguments by its dtypes,
and which integers are multiples of 16 by its cases.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from amdkernel_mcp.compiler.toolchain import Toolchain
from amdkernel_mcp.compiler.triton import OPTIONS, KernelTypes, TritonCompiler
from amdkernel_mcp.expressions import Expression, ExpressionError
from amdkernel_mcp.kernel_source import is_triton
from amdkernel_mcp.launch.lines import NO_ARGUMENT, Syntax, read_launch_plan
from amdkernel_mcp.launch.plan import Launch, LaunchPlan
from amdkernel_mcp.problems.problem import Number, Problem
from amdkernel_mcp.results.kernels import Finding

_LINES = Syntax(
    comment="#",
    verbs=("launch", "workspace", "constexpr", "tune"),
    sizes=("grid",),
    settings=("grid", "args", "types"),
    constants_in_launch=True,
    optional_arguments=True,
    example="# amdkernel: launch NAME grid=[ceil_div(n, BLOCK)] BLOCK=1024 num_warps=4",
    c_pointers=False,
)
_TYPES = {
    "f16": "fp16", "bf16": "bf16", "f32": "fp32", "f64": "fp64",
    "float8_e4m3fn": "fp8e4nv", "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2": "fp8e5", "float8_e5m2fnuz": "fp8e5b16",
    **{name: name for name in ("i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")},
}  # fmt: skip
_WORDS = {
    "check the index against the size before the access": "mask the access, as in `mask=index < size`",
    "__syncthreads()": "`tl.debug_barrier()`",
    "atomicAdd": "`tl.atomic_add`",
}
_MOST_VARIANTS = 4
_MOST_COMPUTED = 24
_MULTIPLE = 16  # Triton's launcher gives such integers other code


class Triton:
    """Implements `Language`."""

    name = "Triton"
    options: Collection[str] = OPTIONS
    words: Mapping[str, str] = _WORDS

    def speaks(self, source: str, file_name: str) -> bool:
        """A Python file that imports triton and has a jit function."""
        del file_name
        return is_triton(source)

    def read_plan(self, source: str, problem: Problem | None = None) -> LaunchPlan:
        """See `Language`. A type that Triton has not is a mistake."""
        plan = read_launch_plan(source, problem, _LINES)
        known = f"known: {', '.join(_TYPES)}, and pointers such as *f32"
        wrong = [
            Finding(
                kind="launch_plan", message=f"launch {launch.kernel}: no type is {text!r}; {known}", line=launch.line
            )
            for launch in plan.launches
            for text in launch.types or ()
            if _written(text) is None
        ]
        return replace(plan, mistakes=(*plan.mistakes, *(wrong or _mixed(plan, problem))))

    def fixed(self, values: Mapping[str, str]) -> str:
        """See `Language`."""
        return "# amdkernel: constexpr " + " ".join(f"{name}={value}" for name, value in values.items())

    def toolchain(self, plan: LaunchPlan, problem: Problem | None) -> Toolchain:
        """See `Language`."""
        used = {name for each in _expressions(plan) for name in each.names}
        kernels: dict[str, KernelTypes] = {}
        for launch in plan.launches:
            types = _types(launch, plan, problem)
            if types is None:
                return TritonCompiler({}, untyped=launch.kernel)
            earlier = kernels.get(launch.kernel)
            types = (_merged(earlier.types, types) or types) if earlier else types
            variants = [*(earlier.variants if earlier else ((),)), *_variants(launch, types, plan, problem)]
            made = tuple(dict.fromkeys(variants))[:_MOST_VARIANTS]
            kernels[launch.kernel] = KernelTypes(types, made, _computed(plan, problem))
        return TritonCompiler(kernels, used=tuple(sorted(used)))


def _computed(plan: LaunchPlan, problem: Problem | None) -> tuple[tuple[tuple[str, int], ...], ...]:
    """The sets of values that the plan's computed constants have: in the cases, then in sizes of their ranges."""
    if not plan.computed or problem is None:
        return ((),)
    found: dict[tuple[tuple[str, int], ...], None] = {}
    for scalars in [*(case.values for case in (*problem.cases, *problem.profile_cases)), *_sizes_in_range(problem)]:
        try:
            values = plan.values(scalars)
        except ExpressionError:
            continue  # said for its case when it is launched
        found.setdefault(tuple((name, int(values[name])) for name, _ in plan.computed))
    return tuple(found)[:_MOST_COMPUTED] or ((),)


def _sizes_in_range(problem: Problem) -> Iterator[dict[str, Number]]:
    """The first case with one scalar at each power of two within its range, at the next number, and at its ends."""
    for name, allowed in problem.ranges.items():
        powers = [1 << bit for bit in range(allowed.high.bit_length() + 1)]
        for size in sorted({allowed.low, allowed.high, *powers, *(power + 1 for power in powers)}):
            if allowed.low <= size <= allowed.high:
                yield {**problem.cases[0].values, name: size}


def _expressions(plan: LaunchPlan) -> Iterator[Expression]:
    for launch in plan.launches:
        yield from launch.grid
        yield from (item for item in launch.args or () if isinstance(item, Expression))
    yield from chain.from_iterable(space.shape for space in plan.workspaces)
    yield from (each for _, each in plan.computed)


def _written(text: str) -> str | None:
    """A type of a launch line as Triton writes it: `*f32` and `*fp32` are the same."""
    star, name = ("*", text[1:]) if text.startswith("*") else ("", text)
    known = _TYPES.get(name) or (name if name in _TYPES.values() else None)
    return known and star + known


def _arguments(launch: Launch, problem: Problem | None) -> Sequence[str | Expression]:
    if launch.args is not None:
        return launch.args
    return tuple(argument.name for argument in problem.arguments) if problem else ()


def _types(launch: Launch, plan: LaunchPlan, problem: Problem | None) -> tuple[str, ...] | None:
    """The types of the arguments; None where neither the line nor a problem says them."""
    if launch.types is not None:
        given = [_written(text) or "i32" for text in launch.types]
        items = _arguments(launch, problem)
        return tuple((at < len(items) and _literal(items[at])) or kind for at, kind in enumerate(given))
    if problem is None:
        return None
    arrays = {argument.name: argument.dtype.name for argument in problem.arrays}
    arrays |= {space.name: space.dtype.name for space in plan.workspaces}
    return tuple(_type(item, arrays, plan, problem) for item in _arguments(launch, problem))


def _merged(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...] | None:
    """Types for both launches of a kernel: the wider integer; None where there are none."""
    both = []
    for pair in zip(one, other, strict=False):
        if pair[0] == pair[1]:
            both.append(pair[0])
        elif set(pair) <= {"1", "i32", "i64"}:
            both.append("i64" if "i64" in pair else "i32")
        else:
            return None
    return tuple(both) if len(one) == len(other) else None


def _mixed(plan: LaunchPlan, problem: Problem | None) -> list[Finding]:
    """A finding for each launch whose arguments have other types than those of an earlier launch of its kernel."""
    first: dict[str, tuple[Launch, tuple[str, ...]]] = {}
    found = []
    for launch in plan.launches:
        types = _types(launch, plan, problem)
        if types is None:
            continue
        earlier, known = first.setdefault(launch.kernel, (launch, types))
        if _merged(known, types) is None:
            message = (
                f"launch {launch.kernel}: the types ({', '.join(types)}) are not those of line {earlier.line}"
                f" ({', '.join(known)}): define a second function for them"
            )
            found.append(Finding(kind="launch_plan", message=message, line=launch.line))
    return found


def _literal(item: str | Expression) -> str | None:
    """The text of an argument that Triton's launcher compiles in: a 1, or no argument at all."""
    text = item.text.strip() if isinstance(item, Expression) else ""
    return text if text in ("1", NO_ARGUMENT.text) else None


def _type(item: str | Expression, arrays: dict[str, str], plan: LaunchPlan, problem: Problem) -> str:
    if literal := _literal(item):
        return literal
    if isinstance(item, str):
        if item in arrays:
            return f"*{_TYPES[arrays[item]]}"
        argument = problem.argument(item)
        if argument is not None:
            return _TYPES[argument.dtype.name]
    wide = any(isinstance(value, int) and not -(1 << 31) <= value < 1 << 31 for value in _values(item, plan, problem))
    return "i64" if wide else "i32"


def _values(item: str | Expression, plan: LaunchPlan, problem: Problem) -> Iterator[Number | None]:
    """The value of an argument in each announced case; None where there is none."""
    for case in problem.cases:
        try:
            values = plan.values(case.values)
            yield values.get(item) if isinstance(item, str) else item.value(values)
        except ExpressionError:
            yield None


def _is_multiple(value: Number | None) -> bool:
    return isinstance(value, int) and value % _MULTIPLE == 0


def _variants(launch: Launch, types: Sequence[str], plan: LaunchPlan, problem: Problem | None) -> list[tuple[int, ...]]:
    """The sets of integers that are multiples of 16 together in a case."""
    if problem is None:
        return []
    integers = [
        (position, list(_values(item, plan, problem)))
        for position, item in enumerate(_arguments(launch, problem))
        if position < len(types) and types[position][0] in "iu"
    ]
    found = [tuple(at for at, values in integers if _is_multiple(values[n])) for n in range(len(problem.cases))]
    return sorted(set(found), key=found.count, reverse=True)
