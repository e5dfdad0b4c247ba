"""A kernel's parameters as the arguments of a problem: which array, which size and which number each one is. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from amdkernel_mcp.counted import counted
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.port.functions import Source
from amdkernel_mcp.port.host_code import HostArithmeticError, HostCode, Launch
from amdkernel_mcp.port.tokens import Token, closing
from amdkernel_mcp.problems.problem import Argument, Problem

FLOATS = frozenset(["f16", "bf16", "f32", "f64"])
_NUMBER = re.compile(r"-?[\d.][\w.+-]*")
_HINT = "take it without --problem, and write `args` of its launch line"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel: `pointer` with what it points at, else a scalar."""

    name: str
    dtype: str | None
    pointer: bool
    constant: bool
    declared: str


@dataclass(frozen=True)
class Bound:
    """What a launch passes.

    sizes: expressions for scalars, fixed: numbers of the host, both by the parameter's name. tensors: shapes by the
    host's names. cleared: outputs that the kernel adds to, by the parameter's name, with their number of elements.
    """

    arguments: tuple[str, ...]
    sizes: Mapping[str, str]
    fixed: Mapping[str, str]
    tensors: Mapping[str, tuple[str, ...]]
    cleared: Mapping[str, str]
    guesses: tuple[str, ...]


def bind(
    parameters: Sequence[Parameter], roles: Mapping[str, str], source: Source, launch: Launch, problem: Problem
) -> Bound:
    """The kernel's parameters by those of the problem. roles: of its arrays, whether it reads or writes them.

    Raises InputError where they do not fit.
    """
    passed = dict(zip([each.name for each in parameters], [source.tokens[a:b] for a, b in launch.passed], strict=False))
    arrays, guesses = _arrays([each for each in parameters if each.pointer], roles, problem)
    tensors = {
        passed[name][0].text: tuple(each.text for each in argument.shape or ())
        for name, argument in arrays.items()
        if passed.get(name)
    }
    host = HostCode(source, launch, {each.name: each.name for each in problem.scalars}, tensors)
    given: dict[str, str] = {name: argument.name for name, argument in arrays.items()}
    fixed: dict[str, str] = {}
    left: list[Parameter] = []
    constants: dict[str, str] = {}  # of a host with one size: a size of the problem where one is left, else as they are
    for parameter in parameters:
        if parameter.pointer:
            continue
        words = passed.get(parameter.name, [])
        number = _number(host, words) if parameter.dtype in FLOATS else None
        known = _by_name(parameter, words, problem) or (None if number else _by_host(host, words))
        if known and not known.isdigit():
            given[parameter.name] = known
        elif known:
            constants[parameter.name] = known
        elif number:
            fixed[parameter.name] = number
        else:
            left.append(parameter)
    used = set(given.values())
    fixed_sizes = [each for each in parameters if each.name in constants]
    if len(_free(problem, used, floats=False)) == len(fixed_sizes) and not left:
        left = fixed_sizes
    else:
        given |= constants
    more, taken = _left_over(left, used, problem)
    given |= more
    scalars = [each.name for each in parameters if not each.pointer and each.name in given]
    return Bound(
        tuple(given[each.name] for each in parameters if each.name not in fixed),
        {name: given[name] for name in scalars},
        fixed,
        host.tensors,
        {
            name: " * ".join(_factor(each.text) for each in argument.shape or ()) or "1"
            for name, argument in arrays.items()
            if argument.role == "out" and roles[name] == "inout" and adds(source, name)
        },
        (*guesses, *taken),
    )


def _arrays(
    pointers: Sequence[Parameter], roles: Mapping[str, str], problem: Problem
) -> tuple[dict[str, Argument], list[str]]:
    """By their names where all have one, else inputs and outputs in their order."""
    known = {each.name: each for each in problem.arrays}
    if all(each.name in known for each in pointers):
        return {each.name: known[each.name] for each in pointers}, []
    if len(pointers) != len(known):
        sizes = f"{counted(len(pointers), 'array')}, the problem has {len(known)}"
        raise InputError(f"the kernel takes {sizes}", hint=_HINT)
    read = [each for each in pointers if each.constant or roles[each.name] == "in"]
    written = [each for each in pointers if each not in read]
    inputs = [each for each in problem.arrays if each.role == "in"]
    outputs = [each for each in problem.arrays if each.role != "in"]
    if (len(read), len(written)) == (len(inputs), len(outputs)):
        pairs = itertools.chain(zip(read, inputs, strict=True), zip(written, outputs, strict=True))
        return {each.name: argument for each, argument in pairs}, []
    found = {each.name: argument for each, argument in zip(pointers, problem.arrays, strict=True)}
    return found, ["arrays are passed in the problem's order"]


def _by_name(parameter: Parameter, words: Sequence[Token], problem: Problem) -> str | None:
    """The scalar of the problem that the parameter, or what the host passes, is called."""
    of_kind = [each for each in problem.scalars if (each.dtype.name in FLOATS) == (parameter.dtype in FLOATS)]
    names = [parameter.name, words[0].text if len(words) == 1 else ""]
    same = [each.name for name in names for each in of_kind if each.name == name]
    alike = [each.name for name in names for each in of_kind if each.name.lower() == name.lower()]
    return next(iter([*same, *alike]), None)


def _by_host(host: HostCode, words: Sequence[Token]) -> str | None:
    try:
        return host.expression(words) if words else None
    except (HostArithmeticError, IndexError):
        return None


def _number(host: HostCode, words: Sequence[Token], depth: int = 0) -> str | None:
    """A float that the host passes, as C writes it."""
    text = "".join(each.text for each in words)
    if _NUMBER.fullmatch(text):
        return text
    value = host.given(words[0].text) if len(words) == 1 and depth < 4 else None
    return _number(host, value, depth + 1) if value else None


def _left_over(left: Sequence[Parameter], used: set[str], problem: Problem) -> tuple[dict[str, str], list[str]]:
    """Scalars of which the host says nothing, by what the problem has besides: a guess that the check decides."""
    given: dict[str, str] = {}
    for floats in (False, True):
        waiting = [each.name for each in left if (each.dtype in FLOATS) == floats]
        free = _free(problem, used, floats=floats)
        if len(waiting) == len(free):
            given |= dict(zip(waiting, free, strict=True))
        elif len(waiting) == 1 and not floats:
            shape = problem.outputs[0].shape or ()
            given[waiting[0]] = " * ".join(_factor(each.text) for each in shape) or "1"
        elif waiting:
            listed = ", ".join(waiting)
            raise InputError(f"the host's code does not show what {listed} of the kernel is", hint=_HINT)
    return given, [f"{name} was taken as {what}" for name, what in given.items()]


def _free(problem: Problem, used: set[str], *, floats: bool) -> list[str]:
    """The problem's scalars of one kind that nothing stands for yet."""
    of_kind = [each.name for each in problem.scalars if (each.dtype.name in FLOATS) == floats]
    return [name for name in of_kind if not any(re.search(rf"\b{name}\b", text) for text in used)]


def adds(source: Source, name: str) -> bool:
    """Whether code of the GPU makes an atomic or `+=` on the array: it must begin with zeros."""
    tokens = source.tokens
    for place in (place for each in source.on_gpu for place in range(each.body, each.end)):
        if tokens[place].text != name:
            continue
        if tokens[place - 1].text == "&" or (
            tokens[place - 1].text == "(" and tokens[place - 2].text.startswith("atomic")
        ):
            return True
        end = closing(tokens, place + 1) + 1 if tokens[place + 1].text == "[" else place + 1
        if end < len(tokens) and tokens[end].text == "+=":
            return True
    return False


def _factor(text: str) -> str:
    return text if re.fullmatch(r"\w+", text) else f"({text})"
