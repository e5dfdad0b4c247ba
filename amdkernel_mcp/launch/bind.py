"""Binds a launch plan to one case: expressions become numbers, arguments become bytes; or a finding says why not."""

from __future__ import annotations

import difflib
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import prod

from amdkernel_mcp.compiler.launch_needs import LaunchNeeds, Passed
from amdkernel_mcp.counted import counted
from amdkernel_mcp.expressions import Expression, ExpressionError, parse_expression
from amdkernel_mcp.hardware.limits import LARGEST_BLOCK, LARGEST_GRID, lds_limit
from amdkernel_mcp.launch.kernel_symbols import KernelSymbol, Parameter, find_kernel
from amdkernel_mcp.launch.plan import Launch, LaunchPlan
from amdkernel_mcp.problems.dtypes import DTYPES, DType
from amdkernel_mcp.problems.problem import Case, Number, Problem
from amdkernel_mcp.results.kernels import Finding, FindingKind
from amdkernel_mcp.runner_protocol.job import RunnerArgument, RunnerLaunch

_LARGEST_WORKSPACE = 2 << 30  # bytes


@dataclass(frozen=True)
class BoundPlan:
    """The launches of one case, or why there are none."""

    launches: tuple[RunnerLaunch, ...] = ()
    workspaces: tuple[tuple[str, int], ...] = ()  # name and bytes
    finding: Finding | None = None


class _Refused(Exception):
    def __init__(self, message: str, line: int | None, kind: FindingKind = "launch_plan") -> None:
        super().__init__(message)
        self.finding = Finding(kind=kind, message=message, line=line)


def bind(plan: LaunchPlan, problem: Problem, case: Case, *, kernels: Sequence[KernelSymbol], arch: str) -> BoundPlan:
    """The launches of `plan` for `case`; `finding` says why there are none."""
    try:
        values = plan.values(case.values)
    except ExpressionError as error:
        return BoundPlan(finding=Finding(kind="launch_plan", message=f"{error.message}, in case {case.name}"))
    try:
        workspaces = tuple(
            (space.name, _bytes(space.name, space.dtype, space.shape, values, case, space.line))
            for space in plan.workspaces
        )
        launches = tuple(_bind_launch(launch, problem, case, values, kernels, arch, plan) for launch in plan.launches)
    except _Refused as refused:
        return BoundPlan(finding=refused.finding)
    return BoundPlan(launches, workspaces)


def _bytes(
    name: str, dtype: DType, shape: Sequence[Expression], values: Mapping[str, Number], case: Case, line: int
) -> int:
    size = dtype.bytes
    for dimension in shape:
        length = _value(f"workspace {name}: shape", dimension, values, case, line)
        if length < 1:
            raise _Refused(f"workspace {name}: {dimension.text} is {length} in case {case.name}", line)
        size *= length
    if size > _LARGEST_WORKSPACE:
        raise _Refused(f"workspace {name} takes {size >> 20} MiB in case {case.name}, more than 2048", line)
    return size


def _value(where: str, expression: Expression, values: Mapping[str, Number], case: Case, line: int) -> int:
    try:
        return expression.value(values)
    except ExpressionError as error:
        raise _Refused(f"{where}: {error.message}, in case {case.name}", line) from None


def _bind_launch(
    launch: Launch,
    problem: Problem,
    case: Case,
    values: Mapping[str, Number],
    kernels: Sequence[KernelSymbol],
    arch: str,
    plan: LaunchPlan,
) -> RunnerLaunch:
    given = launch.args if launch.args is not None else tuple(argument.name for argument in problem.arguments)
    kernel = _specialised(launch.kernel, given, kernels, values) or find_kernel(kernels, launch.kernel)
    if not isinstance(kernel, KernelSymbol) and plan.computed:
        asked = ", ".join(f"{name}={values[name]}" for name, _ in plan.computed)
        message = f"launch {launch.kernel}: there is no code for {asked} (case {case.name}); codes are made for"
        raise _Refused(f"{message} the first values that the cases and ranges of the problem give", launch.line)
    if not isinstance(kernel, KernelSymbol):
        raise _Refused(_no_kernel(launch.kernel, kernel), launch.line)
    if launch.grid:
        grid = _dimensions("grid", launch, launch.grid, values, case)
    else:
        named = _by_position(given, problem, values, plan, case)
        grid = _dimensions("grid", launch, _grid_of(launch, kernel, given), named, case)
    block = _own_block(kernel.needs) if kernel.needs else _dimensions("block", launch, launch.block, values, case)
    threads = block[0] * block[1] * block[2]
    if threads > LARGEST_BLOCK:
        raise _Refused(
            f"launch {launch.kernel}: a block of {threads} threads in case {case.name}; the limit is {LARGEST_BLOCK}",
            launch.line,
        )
    if threads > kernel.max_block:
        raise _Refused(
            f"launch {launch.kernel}: a block of {threads} threads in case {case.name},"
            f" but __launch_bounds__ allows at most {kernel.max_block}",
            launch.line,
        )
    return RunnerLaunch(
        kernel=kernel.symbol,
        grid=grid,
        block=block,
        lds_bytes=_lds(launch, kernel, values, case, arch),
        arguments=_arguments(launch, given, kernel, problem, values, plan, case),
    )


def _specialised(
    name: str, given: Sequence[str | Expression], kernels: Sequence[KernelSymbol], values: Mapping[str, Number]
) -> KernelSymbol | None:
    """Of the codes of one kernel, that which assumes most and whose assumptions hold; None where there is one code."""

    def is_multiple(position: int) -> bool:
        item = given[position] if position < len(given) else None
        try:
            value = values.get(item) if isinstance(item, str) else item.value(values) if item else None
        except ExpressionError:
            return False  # said with the argument
        return isinstance(value, int) and value % 16 == 0

    fits = [
        kernel
        for kernel in kernels
        if kernel.needs
        and kernel.needs.kernel == name
        and all(map(is_multiple, kernel.needs.multiples_of_16))
        and all(values.get(constant) == value for constant, value in kernel.needs.constants.items())
    ]
    return max(fits, key=lambda kernel: len(kernel.needs.multiples_of_16) if kernel.needs else 0, default=None)


def _no_kernel(name: str, found: Sequence[str]) -> str:
    if any(other.partition("<")[0] == name.partition("<")[0] for other in found):
        return f"launch {name}: several kernels match: {', '.join(found)}"
    there = ", ".join(found) or "none"
    near = difflib.get_close_matches(name, found, n=1)
    if near:
        return f"launch {name}: the code object has no such kernel; did you mean {near[0]}? (kernels: {there})"
    return (
        f"launch {name}: the code object has no such kernel (kernels: {there});"
        ' declare it `extern "C" __global__`, and instantiate a template explicitly'
    )


def _own_block(needs: LaunchNeeds) -> tuple[int, int, int]:
    x, y, z = [*(needs.block_shape or (needs.block,)), 1, 1][:3]
    return x, y, z


def _grid_of(launch: Launch, kernel: KernelSymbol, given: Sequence[str | Expression]) -> tuple[Expression, ...]:
    """The grid that the source has, of which a compiler says formulas over the arguments."""
    if not kernel.needs or not kernel.needs.grid:
        message = f"launch {launch.kernel}: the grid cannot be read from the source: add `grid=[..]`"
        raise _Refused(message, launch.line)
    return tuple(_formula(launch, text, len(given)) for text in kernel.needs.grid)


def _formula(launch: Launch, text: str, arguments: int) -> Expression:
    """A compiler's formula, which may come from the candidate. Names are the positions of arguments, or their sizes."""
    try:
        expression = parse_expression(text)
    except ExpressionError as error:
        raise _Refused(f"launch {launch.kernel}: {error.message}", launch.line) from None
    known = {f"a{position}" for position in range(arguments)}
    if {name.partition("_")[0] for name in expression.names} - known:
        raise _Refused(f"launch {launch.kernel}: {text} names more than arguments", launch.line)
    return expression


def _by_position(
    given: Sequence[str | Expression], problem: Problem, values: Mapping[str, Number], plan: LaunchPlan, case: Case
) -> dict[str, Number]:
    """The values of the scalar arguments, a0, and the sizes of arrays, a0_1, as formulas of a compiler name them."""
    named: dict[str, Number] = {}
    for position, item in enumerate(given):
        if not isinstance(item, str):
            with suppress(ExpressionError):  # said with the argument
                named[f"a{position}"] = item.value(values)
        elif item in values:
            named[f"a{position}"] = values[item]
        else:
            sizes = enumerate(_shape(item, problem, values, plan, case))
            named |= {f"a{position}_{dimension}": size for dimension, size in sizes}
    return named


def _dimensions(
    key: str,
    launch: Launch,
    expressions: Sequence[Expression],
    values: Mapping[str, Number],
    case: Case,
) -> tuple[int, int, int]:
    sizes = [_value(f"launch {launch.kernel}: {key}", e, values, case, launch.line) for e in expressions]
    for expression, size in zip(expressions, sizes, strict=True):
        if not 1 <= size <= LARGEST_GRID:
            raise _Refused(
                f"launch {launch.kernel}: {key} {expression.text} is {size} in case {case.name}, not 1 to 2**31 - 1",
                launch.line,
            )
    x, y, z = sizes + [1] * (3 - len(sizes))
    return x, y, z


def _lds(launch: Launch, kernel: KernelSymbol, values: Mapping[str, Number], case: Case, arch: str) -> int:
    dynamic = _value(f"launch {launch.kernel}: lds", launch.lds, values, case, launch.line)
    dynamic += kernel.needs.lds if kernel.needs else 0
    if dynamic < 0:
        raise _Refused(f"launch {launch.kernel}: lds is {dynamic} in case {case.name}", launch.line)
    total, limit = kernel.static_lds_bytes + dynamic, lds_limit(arch)
    if total > limit:
        parts = f"{kernel.static_lds_bytes} static + {dynamic} dynamic"
        raise _Refused(
            f"launch {launch.kernel}: {total} bytes of LDS ({parts}) in case {case.name}; {arch} has {limit}",
            launch.line,
            "lds_over_limit",
        )
    return dynamic


def _arguments(
    launch: Launch,
    given: Sequence[str | Expression],
    kernel: KernelSymbol,
    problem: Problem,
    values: Mapping[str, Number],
    plan: LaunchPlan,
    case: Case,
) -> tuple[RunnerArgument, ...]:
    if kernel.needs and kernel.needs.parameters is not None:
        return _passed(launch, given, kernel, kernel.needs.parameters, problem, values, plan, case)
    parameters, hidden = kernel.parameters, kernel.needs.null_pointers if kernel.needs else 0
    if kernel.needs:
        given = [item for position, item in enumerate(given) if position not in kernel.needs.compiled_in]
        parameters = parameters[: len(parameters) - hidden]
    if len(given) != len(parameters):
        names = ", ".join(item if isinstance(item, str) else item.text for item in given)
        advice = "" if launch.args is not None else "; set `args=[..]` if they are not the problem's arguments"
        raise _Refused(
            f"launch {launch.kernel}: the kernel takes {counted(len(parameters), 'parameter')}, the plan gives"
            f" {len(given)} ({names}){advice}",
            launch.line,
        )
    bound = [
        _argument(launch, number, item, parameter, problem, values, plan, case)
        for number, (item, parameter) in enumerate(zip(given, parameters, strict=True), start=1)
    ]
    return (*bound, *(RunnerArgument(scalar=bytes(8)) for _ in range(hidden)))


def _argument(
    launch: Launch,
    number: int,
    item: str | Expression,
    parameter: Parameter,
    problem: Problem,
    values: Mapping[str, Number],
    plan: LaunchPlan,
    case: Case,
) -> RunnerArgument:
    buffers = {argument.name for argument in problem.arrays} | {space.name for space in plan.workspaces}
    name = item if isinstance(item, str) else item.text
    where = f"launch {launch.kernel}: parameter {number}"
    if parameter.is_pointer != (name in buffers):
        kinds = ("a pointer", "a scalar") if parameter.is_pointer else ("a scalar", "an array")
        raise _Refused(f"{where} of the kernel is {kinds[0]}, but `{name}` is {kinds[1]}", launch.line)
    if name in buffers:
        return RunnerArgument(buffer=name, scalar=None)
    if isinstance(item, str):
        if item not in values:
            raise _Refused(f"{where}: `{item}` has no value in case {case.name}", launch.line)
        value, argument = values[item], problem.argument(item)
    else:
        value, argument = _value(where, item, values, case, launch.line), None
    dtype = argument.dtype if argument else None
    return RunnerArgument(buffer=None, scalar=_scalar(where, name, value, dtype, parameter, launch.line))


def _passed(
    launch: Launch,
    given: Sequence[str | Expression],
    kernel: KernelSymbol,
    parameters: Sequence[Passed],
    problem: Problem,
    values: Mapping[str, Number],
    plan: LaunchPlan,
    case: Case,
) -> tuple[RunnerArgument, ...]:
    """The arguments of a kernel whose compiler says what each parameter gets."""
    if len(parameters) != len(kernel.parameters) or any((each.argument or 0) >= len(given) for each in parameters):
        message = f"launch {launch.kernel}: the code object takes other parameters than its compiler says"
        raise _Refused(message, launch.line)
    named = _by_position(given, problem, values, plan, case)
    bound = []
    for number, (how, parameter) in enumerate(zip(parameters, kernel.parameters, strict=True), start=1):
        item = given[how.argument or 0]
        where = f"launch {launch.kernel}: parameter {number}"
        if how.formula is not None:
            formula = _formula(launch, how.formula, len(given))
            value = _value(where, formula, named, case, launch.line)
            scalar = _scalar(where, how.formula, value, None, parameter, launch.line)
        elif how.shape or how.strides:
            shape = _shape(str(item), problem, values, plan, case)
            scalar = _layout(how, shape)
            if parameter.is_pointer or len(scalar) != parameter.bytes:
                size = counted(parameter.bytes, "byte")
                raise _Refused(f"{where} takes {size}, and the sizes of `{item}` are {len(scalar)}", launch.line)
        else:
            bound.append(_argument(launch, number, item, parameter, problem, values, plan, case))
            continue
        bound.append(RunnerArgument(buffer=None, scalar=scalar))
    return tuple(bound)


def _shape(name: str, problem: Problem, values: Mapping[str, Number], plan: LaunchPlan, case: Case) -> list[int]:
    """The sizes of an array or workspace; none where there is no such array."""
    argument = next((each for each in problem.arrays if each.name == name), None)
    if argument is not None:
        return list(case.shape_of(argument))
    space = next((each for each in plan.workspaces if each.name == name), None)
    return [_value(name, size, values, case, space.line) for size in space.shape] if space else []


def _layout(how: Passed, shape: Sequence[int]) -> bytes:
    """Sizes in 32 bits, then strides in elements in 64 bits, packed; fewer bytes where the array has not so many."""
    strides = [prod(shape[at + 1 :]) for at in range(len(shape))]
    sizes = [shape[at] & 0xFFFF_FFFF for at in how.shape if at < len(shape)]
    steps = [strides[at] for at in how.strides if at < len(shape)]
    return struct.pack(f"<{len(sizes)}I{len(steps)}q", *sizes, *steps)


def _scalar(where: str, name: str, value: Number, dtype: DType | None, parameter: Parameter, line: int) -> bytes:
    """The bytes of a scalar. Integers take the width of the parameter, as a C++ call would convert them."""
    if isinstance(value, float) or (dtype and dtype.kind == "float"):
        dtype = dtype or DTYPES["f64" if parameter.bytes == 8 else "f32"]
        if dtype.bytes != parameter.bytes:
            raise _Refused(
                f"{where} takes {counted(parameter.bytes, 'byte')}, but `{name}` is {dtype.name} ({dtype.bytes} bytes)",
                line,
            )
        import numpy

        return numpy.array(value).astype(dtype.numpy).tobytes()
    bits = 8 * parameter.bytes
    if bits not in (8, 16, 32, 64):
        raise _Refused(f"{where} takes {counted(parameter.bytes, 'byte')}: `{name}` is an integer, not a struct", line)
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        raise _Refused(f"{where} takes {counted(parameter.bytes, 'byte')}, and `{name}` = {value} does not fit", line)
    return struct.pack("<Q", value & 0xFFFF_FFFF_FFFF_FFFF)[: parameter.bytes]
