"""Binds a launch plan to one case: expressions become numbers, arguments become bytes; or a finding says why not."""

from __future__ import annotations

import difflib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from amdkernel_mcp.counted import counted
from amdkernel_mcp.expressions import Expression, ExpressionError
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
    grid = _dimensions("grid", launch, launch.grid, values, case)
    block = (kernel.needs.block, 1, 1) if kernel.needs else _dimensions("block", launch, launch.block, values, case)
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


def _dimensions(
    key: str, launch: Launch, expressions: Sequence[Expression], values: Mapping[str, Number], case: Case
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
    buffers = {argument.name for argument in problem.arrays} | {space.name for space in plan.workspaces}
    bound = []
    for number, (item, parameter) in enumerate(zip(given, parameters, strict=True), start=1):
        name = item if isinstance(item, str) else item.text
        where = f"launch {launch.kernel}: parameter {number}"
        if parameter.is_pointer != (name in buffers):
            kinds = ("a pointer", "a scalar") if parameter.is_pointer else ("a scalar", "an array")
            raise _Refused(f"{where} of the kernel is {kinds[0]}, but `{name}` is {kinds[1]}", launch.line)
        if name in buffers:
            bound.append(RunnerArgument(buffer=name, scalar=None))
            continue
        if isinstance(item, str):
            if item not in values:
                raise _Refused(f"{where}: `{item}` has no value in case {case.name}", launch.line)
            value, argument = values[item], problem.argument(item)
        else:
            value, argument = _value(where, item, values, case, launch.line), None
        dtype = argument.dtype if argument else None
        bound.append(RunnerArgument(buffer=None, scalar=_scalar(where, name, value, dtype, parameter, launch.line)))
    return (*bound, *(RunnerArgument(scalar=bytes(8)) for _ in range(hidden)))


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
