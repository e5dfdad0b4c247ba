"""Writes kernels with their launch lines: values, their places in memory, and the function of one launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from amdkernel_mcp.importing.inspection import Array, Inspection, Items, Number, Power, Ref, Size, Step
from amdkernel_mcp.importing.pointwise import COMPARISONS, expression
from amdkernel_mcp.importing.skeleton import includes, product
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.problems.signature import C_TYPES

_LONGEST = 1000  # characters of an expression that others may hold: some repeat their operands
_FLOATS = ("f64", "f32", "f16", "bf16")


class NotDrafted(Exception):
    """Why no kernel was drafted, as a sentence without its end."""


@dataclass(frozen=True)
class Value:
    """A tensor: an array in memory, or an expression of the coordinates of its elements.

    uses: the arrays that the expression reads.
    """

    name: str
    dtype: str
    shape: tuple[str, ...]
    text: str | None = None
    uses: tuple[Value, ...] = ()


class KernelWriter:
    """Collects the launches of one file."""

    def __init__(self, problem: Problem, found: Inspection) -> None:
        self._problem = problem
        self._values: dict[str, Value] = {}
        self._steps = {step.name: step for step in found.graph or []}
        self._launches: list[str] = []
        self._workspaces: list[str] = []
        self._functions: list[str] = []
        self._scalars = [(C_TYPES[each.dtype.name], each.name) for each in problem.scalars]
        self._outputs = {each.name for each in problem.outputs}
        for each in (*found.inputs, *found.weights):
            if isinstance(each, Array):
                self._values[each.name] = Value(each.name, each.dtype, tuple(each.shape))
        self._readers: dict[str, int] = {}
        for step in found.graph or []:
            for name in _names(step):
                self._readers[name] = self._readers.get(name, 0) + 1

    def text(self) -> str:
        """The file."""
        head = "// A naive kernel, drafted by `amdkernel problem import`: one launch per operation.\n"
        return head + "\n".join([*self._workspaces, *self._launches, *includes(self._problem), *self._functions]) + "\n"

    def value(self, name: str) -> Value:
        """What an earlier step or an input is. Raises NotDrafted."""
        if name not in self._values:
            raise NotDrafted(f"{name} was not made")
        return self._values[name]

    def step(self, name: str) -> Step:
        """The step of a name. Raises NotDrafted."""
        if name not in self._steps:
            raise NotDrafted(f"{name} is not a step")
        return self._steps[name]

    def operand(self, step: Step, number: int) -> Value:
        """The tensor that is the argument of this number. Raises NotDrafted."""
        given = step.args[number] if number < len(step.args) else None
        if not isinstance(given, Ref):
            raise NotDrafted(f"{step.op} has no tensor as argument {number + 1}")
        return self.value(given.ref)

    def in_memory(self, value: Value) -> Value:
        """The value as an array; an expression is computed first."""
        if value.text is None:
            return value
        stored = replace(value, text=None, uses=())
        self.kernel(stored, value.text, value.uses)
        self._values[value.name] = stored
        return stored

    def alias(self, step: Step) -> None:
        """The elements of the first operand in the same order, in another shape."""
        source = self.operand(step, 0)
        if source.text is not None and source.shape != tuple(step.shape):
            source = self.in_memory(source)
        self._values[step.name] = replace(source, shape=tuple(step.shape))

    def pointwise(self, step: Step, op: str) -> None:
        """One expression for each element. It is computed where it is read, if that is one place with its shape."""
        shape = tuple(step.shape)
        operands: list[str] = []
        uses: list[Value] = []
        given = [*step.args, *(step.keywords[each] for each in ("alpha", "min", "max") if each in step.keywords)]
        within = self._type_within(step, op)
        for each in given:
            if isinstance(each, Ref):
                value = self.value(each.ref)
                if value.text is not None and value.shape != shape:
                    value = self.in_memory(value)
                uses += value.uses if value.text is not None else [value]
                element = value.text if value.text is not None else _load(value, shape)
                condition = op == "where" and not operands
                operands.append(f"({element})" if condition else f"({within})({element})")
            elif isinstance(each, Size | Number | Power | bool):
                operands.append(f"({within})({number(each)})")
            elif each is None:
                operands.append("")
        text = _clamped(operands) if op == "clamp" else self._expression(step, op, operands)
        if text is None:
            raise NotDrafted(f"no naive kernel is known for {step.op} with {len(operands)} operands")
        value = Value(step.name, step.dtype, shape, f"({c_type(step.dtype)})({text})", tuple(dict.fromkeys(uses)))
        self.define(step, value)

    def _expression(self, step: Step, op: str, operands: list[str]) -> str | None:
        if op in ("add", "sub") and "alpha" in step.keywords:
            return f"{operands[0]} {'+' if op == 'add' else '-'} {operands[1]} * {operands[2]}"
        return expression(op, operands, step.dtype)

    def keep(self, value: Value) -> None:
        """Note an array that a launch fills."""
        self._values[value.name] = value

    def define(self, step: Step, value: Value) -> None:
        """Keep an expression; it is stored at once where several steps read it, or where it grew long."""
        self._values[step.name] = value
        if self._readers.get(step.name, 0) > 1 or len(value.text or "") > _LONGEST:
            self.in_memory(value)

    def _type_within(self, step: Step, op: str) -> str:
        dtypes = [self.value(each.ref).dtype for each in step.args if isinstance(each, Ref)]
        if op == "where":
            dtypes = [step.dtype]
        if op not in COMPARISONS:
            dtypes = [*dtypes, step.dtype] if step.dtype != "bool" else dtypes
        if op.startswith("logical"):
            return "bool" if all(each == "bool" for each in dtypes) else "double"
        floats = [each for each in dtypes if each in _FLOATS] or (
            ["f64"] if any(isinstance(each, Number | Power) for each in step.args) and op in COMPARISONS else []
        )
        if floats:
            return "double" if "f64" in floats else "float"
        return "long long"

    def copy_out(self, name: str, value: Value) -> None:
        """Write a result to an output of the problem."""
        shape = value.shape
        source = value.text if value.text is not None else f"{_widened(value)[0]}{value.name}[i_]{_widened(value)[1]}"
        self.kernel(Value(name, value.dtype, shape), source, value.uses if value.text is not None else (value,))

    def kernel(self, out: Value, result: str, uses: Sequence[Value], body: Sequence[str] = ()) -> None:
        """One launch that gives every element of `out` the value of `result`, after the lines of `body`."""
        uses = [each for n, each in enumerate(uses) if each.name not in [other.name for other in uses[:n]]]
        if any(each.text is not None for each in uses):
            raise NotDrafted("an operand is not in memory")
        if out.name not in self._outputs:
            dims = ", ".join(f"max(1, {size})" if _may_be_empty(size) else size for size in out.shape) or "1"
            self._workspaces.append(f"// amdkernel: workspace {out.name} dtype={_stored(out.dtype)} shape=[{dims}]")
        total, arrays = product(list(out.shape)), [*uses, out]
        blocks = f"max(1, ceil_div({total}, 256))" if _may_be_empty(total) else f"ceil_div({total}, 256)"
        names = ", ".join([*(each.name for each in arrays), *(name for _, name in self._scalars)])
        self._launches.append(f"// amdkernel: launch compute_{out.name} grid=[{blocks}] block=[256] args=[{names}]")
        parameters = [f"const {c_type(each.dtype)}* {each.name}" for each in uses]
        parameters += [f"{c_type(out.dtype)}* {out.name}", *(f"{kind} {name}" for kind, name in self._scalars)]
        self._functions += [
            "",
            f'extern "C" __global__ void compute_{out.name}({", ".join(parameters)})',
            "{",
            "    const long long i_ = blockIdx.x * 256LL + threadIdx.x;",
            f"    if (i_ >= 1LL * {c(total)})",
            "        return;",
            *(f"    {line}" for line in coordinates(out.shape)),
            *(f"    {line}" for line in body),
            f"    {out.name}[i_] = {_narrowed(out.dtype, result)};",
            "}",
        ]


def coordinates(shape: Sequence[str]) -> list[str]:
    """Lines that split the number of an element, i_, into its coordinates c0_, c1_, …"""
    if not shape:
        return []
    lines = ["long long rest_ = i_;"] if len(shape) > 1 else []
    lines += [
        f"const long long c{n}_ = rest_ % ({c(shape[n])}); rest_ /= ({c(shape[n])});"
        for n in range(len(shape) - 1, 0, -1)
    ]
    return [*lines, f"const long long c0_ = {'rest_' if len(shape) > 1 else 'i_'};"]


def at(value: Value, places: Sequence[str]) -> str:
    """The number of the element at these coordinates."""
    text = ""
    for place, size in zip(places, value.shape, strict=True):
        text = f"({text}) * ({c(size)}) + {place}" if text else place
    return text or "0"


def load(value: Value, places: Sequence[str]) -> str:
    """The element at these coordinates, in a type to compute with."""
    before, after = _widened(value)
    return f"{before}{value.name}[{at(value, places)}]{after}"


def c(formula: str) -> str:
    """A formula in C."""
    return formula.replace("//", "/")


def number(each: Size | Number | Power | bool) -> str:
    """A constant in C."""
    if isinstance(each, bool):
        return "1" if each else "0"
    if isinstance(each, Size):
        return c(each.size)
    if isinstance(each, Power):
        return f"pow((double)({c(each.power)}), {each.exponent})"
    text = each.number
    if "inf" in text:
        return "-INFINITY" if text.startswith("-") else "INFINITY"
    return "NAN" if "nan" in text else text


def whole(each: object) -> int:
    """A whole number that depends on no size. Raises NotDrafted."""
    if isinstance(each, Size) and each.size.lstrip("-").isdigit():
        return int(each.size)
    raise NotDrafted("an axis or a count depends on a size")


def items(each: object) -> list[object]:
    """The parts of a list; a single argument is a list of one."""
    return list(each.items) if isinstance(each, Items) else [each]


def formulas(each: object) -> list[str]:
    """The whole numbers of a list, as formulas in C. Raises NotDrafted."""
    found = items(each)
    if not all(isinstance(one, Size) for one in found):
        raise NotDrafted("a list holds something other than whole numbers")
    return [c(one.size) for one in found if isinstance(one, Size)]


def _may_be_empty(formula: str) -> bool:
    """Whether it can be 0 for the smallest sizes; a launch and a workspace cannot."""
    return "-" in formula or "//" in formula


def _names(step: Step) -> list[str]:
    refs = [one for each in (*step.args, *step.keywords.values()) for one in items(each) if isinstance(one, Ref)]
    return [each.ref for each in refs]


def _load(value: Value, shape: tuple[str, ...]) -> str:
    """The element that is broadcast to the coordinates of `shape`."""
    if value.shape == shape:
        before, after = _widened(value)
        return f"{before}{value.name}[i_]{after}"
    skipped = len(shape) - len(value.shape)
    if skipped < 0:
        raise NotDrafted("an operand has more dimensions than the result")
    places = ["0" if size == "1" else f"c{n + skipped}_" for n, size in enumerate(value.shape)]
    return load(value, places)


def _clamped(operands: list[str]) -> str | None:
    if len(operands) < 2:
        return None
    text = operands[0]
    for bound, sign in zip(operands[1:3], "<>", strict=False):
        if bound:
            text = f"({text} {sign} {bound} ? {bound} : {text})"
    return text


def _stored(dtype: str) -> str:
    return "u8" if dtype == "bool" else dtype


def c_type(dtype: str) -> str:
    """The type of an element in memory."""
    return C_TYPES[_stored(dtype)]


def _widened(value: Value) -> tuple[str, str]:
    return ("__bfloat162float(", ")") if value.dtype == "bf16" else ("", "")


def _narrowed(dtype: str, text: str) -> str:
    if dtype == "bf16":
        return f"__float2bfloat16({text})"
    return f"({text}) != 0" if dtype == "bool" else f"({c_type(dtype)})({text})"
