"""The `init` of an input array: a name, some with parameters in parentheses. docs/problems.md lists them.

The bounds of `integers` and `sorted` and the last value of `offsets` may use the case's scalars; all other parameters
are numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite, prod

from amdkernel_mcp.expressions import Expression, ExpressionError, parse_expression
from amdkernel_mcp.problems.dtypes import DType
from amdkernel_mcp.problems.problem import Argument, Case, Init, InitKind

_INIT = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*$", re.DOTALL)
_KNOWN = (
    "normal, normal(mean, deviation), uniform, uniform(low, high), integers(low, high), zeros, ones, arange,"
    " large, large(magnitude), denormal, spikes, spikes(share, size), nans, nans(share), infs, infs(share), sorted,"
    " sorted(low, high), permutation, offsets(last)"
)
_FIXED: tuple[InitKind, ...] = ("zeros", "ones", "arange", "permutation")
_WITHOUT_INFINITY = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz")
_SHARE, _SPIKE = 0.01, 100.0
_LONGEST = 60  # characters of a wrong one that are shown


class InitError(Exception):
    """An `init` that cannot be used; the message is a sentence without its end."""


def default_init(dtype: DType) -> Init:
    """What an input array gets when its problem does not say."""
    return parse_init("normal" if dtype.kind == "float" else "integers(0, 10)", dtype)


def parse_init(text: str, dtype: DType) -> Init:
    """The init that `text` names for an array of `dtype`. Raises InitError."""
    match = _INIT.match(text)
    kind, inner = (match[1], match[2]) if match else (text, None)
    for fixed in _FIXED:
        if kind == fixed and inner is None:
            return Init(kind=fixed, text=text)
    if reader := _READERS.get(kind):
        return reader(text, inner, dtype)
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    raise InitError(f"{shown!r} is not an init; known are {_KNOWN}")


def _normal(text: str, inner: str | None, dtype: DType) -> Init:
    _only_floats("normal", dtype)
    mean, deviation = _numbers("normal", "(mean, deviation)", inner, (0.0, 1.0))
    if deviation < 0:
        raise InitError(f"normal({inner}): in (mean, deviation) the second number is too small")
    return Init("normal", text, mean, deviation)


def _uniform(text: str, inner: str | None, dtype: DType) -> Init:
    _only_floats("uniform", dtype)
    low, high = _numbers("uniform", "(low, high)", inner, (0.0, 1.0))
    if high < low:
        raise InitError(f"uniform({inner}): in (low, high) the second number is too small")
    return Init("uniform", text, low, high)


def _integers(text: str, inner: str | None, _dtype: DType) -> Init:
    low, high = _expressions("integers takes two bounds, (low, high), the upper one exclusive", inner, 2)
    return Init("integers", text, low, high)


def _sorted(text: str, inner: str | None, dtype: DType) -> Init:
    if inner is None and dtype.kind == "float":
        return Init("sorted", text)
    low, high = _expressions(f"sorted of {dtype.name} takes two bounds, (low, high), the upper one exclusive", inner, 2)
    return Init("sorted", text, low, high)


def _offsets(text: str, inner: str | None, dtype: DType) -> Init:
    if dtype.kind == "float":
        raise InitError(f"offsets are whole numbers, not {dtype.name}")
    (last,) = _expressions("offsets takes its last value, such as offsets(nnz)", inner, 1)
    return Init("offsets", text, high=last)


def _large(text: str, inner: str | None, dtype: DType) -> Init:
    _only_floats("large", dtype)
    (most,) = _numbers("large", "(magnitude)", inner, (dtype.largest**0.4,))
    if not 1 <= most <= dtype.largest:
        raise InitError(f"large({inner}): the magnitude must be from 1 to {dtype.largest:g}")
    return Init("large", text, high=most)


def _denormal(text: str, inner: str | None, dtype: DType) -> Init:
    _only_floats("denormal", dtype)
    if inner is not None:
        raise InitError("denormal takes no parameters")
    return Init("denormal", text)


def _spikes(text: str, inner: str | None, dtype: DType) -> Init:
    share, size = _numbers("spikes", "(share, size)", inner, (_SHARE, _SPIKE))
    _check_share("spikes", share)
    if not 0 < size <= dtype.largest or (dtype.kind == "int" and size != int(size)):
        raise InitError(f"spikes({inner}): the size {size:g} is not a positive number that {dtype.name} holds")
    return Init("spikes", text, share, size)


def _specials(text: str, inner: str | None, dtype: DType) -> Init:
    kind: InitKind = "nans" if text.strip().startswith("nans") else "infs"
    _only_floats(kind, dtype)
    if kind == "infs" and dtype.name in _WITHOUT_INFINITY:
        raise InitError(f"{dtype.name} has no infinity")
    (share,) = _numbers(kind, "(share)", inner, (_SHARE,))
    _check_share(kind, share)
    return Init(kind, text, share)


_READERS: dict[str, Callable[[str, str | None, DType], Init]] = {
    "normal": _normal,
    "uniform": _uniform,
    "integers": _integers,
    "sorted": _sorted,
    "offsets": _offsets,
    "large": _large,
    "denormal": _denormal,
    "spikes": _spikes,
    "nans": _specials,
    "infs": _specials,
}


def why_unfit(case: Case, argument: Argument) -> str | None:
    """Why the init of an input cannot fill its array in this case, as the end of a sentence; None where it can.

    Raises ExpressionError.
    """
    init, dtype = argument.init, argument.dtype
    if init is None:
        return None
    low, high = (bound.value(case.values) if isinstance(bound, Expression) else 0 for bound in (init.low, init.high))
    length = case.shape_of(argument)[-1]
    if init.kind == "integers" or (init.kind == "sorted" and init.high is not None):
        inside = dtype.smallest <= low and high - 1 <= dtype.largest
        if low >= high or not inside:
            why = "do not fit into " + dtype.name if low < high else "hold no integer: high is exclusive"
            return f"the bounds {low} and {high} of `init` {why}"
    if init.kind == "offsets" and not 0 <= high <= dtype.largest:
        return f"the last offset {high} is not within 0 to {dtype.largest:g}"
    if init.kind == "offsets" and length < 2 and high != 0:
        return f"offsets from 0 to {high} need at least two elements"
    if init.kind == "permutation" and length > dtype.counts_to:
        return f"{dtype.name} does not hold the numbers from 0 to {length - 1} of a permutation"
    return None


def bytes_of(case: Case, argument: Argument) -> int:
    """The size of an array argument in a case. Raises ExpressionError."""
    return argument.dtype.bytes * prod(case.shape_of(argument))


def _only_floats(kind: str, dtype: DType) -> None:
    if dtype.kind == "int":
        raise InitError(f"{kind} gives fractions, which {dtype.name} cannot hold; use integers(low, high)")


def _check_share(kind: str, share: float) -> None:
    if not 0 < share < 1:
        raise InitError(f"{kind}: the share must be above 0 and below 1, not {share:g}")


def _numbers(kind: str, names: str, inner: str | None, defaults: tuple[float, ...]) -> tuple[float, ...]:
    if inner is None:
        return defaults
    count = {1: "one number", 2: "two numbers"}[len(defaults)]
    try:
        given = tuple(float(part) for part in inner.split(","))
    except ValueError:
        given = ()
    if len(given) != len(defaults):
        raise InitError(f"{kind} takes {count} {names}, not ({inner})")
    if not all(map(isfinite, given)):
        raise InitError(f"{kind} takes finite numbers")
    return given


def _expressions(usage: str, inner: str | None, count: int) -> tuple[Expression, ...]:
    parts = _split(inner or "")
    if len(parts) != count or not all(part.strip() for part in parts):
        raise InitError(usage)
    try:
        return tuple(parse_expression(part) for part in parts)
    except ExpressionError as error:
        raise InitError(error.message) from None


def _split(text: str) -> list[str]:
    """The parts between the commas outside parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
