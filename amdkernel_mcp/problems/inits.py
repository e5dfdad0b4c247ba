"""The `init` of an input array: `normal`, `uniform`, `zeros`, `ones`, `arange`, `integers(low, high)`.

`normal(mean, deviation)` and `uniform(low, high)` take numbers; the bounds of `integers` may use the case's scalars.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Literal

from amdkernel_mcp.expressions import Expression, ExpressionError, parse_expression
from amdkernel_mcp.problems.dtypes import DType
from amdkernel_mcp.problems.problem import Init

_INIT = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*$", re.DOTALL)
_FIXED: dict[str, Literal["zeros", "ones", "arange"]] = {"zeros": "zeros", "ones": "ones", "arange": "arange"}


class InitError(Exception):
    """An `init` that cannot be used; the message is a sentence without its end."""


def default_init(dtype: DType) -> Init:
    """What an input array gets when its problem does not say."""
    return parse_init("normal" if dtype.kind == "float" else "integers(0, 10)", dtype)


def parse_init(text: str, dtype: DType) -> Init:
    """The init that `text` names for an array of `dtype`. Raises InitError."""
    match = _INIT.match(text)
    kind, inner = (match[1], match[2]) if match else (text, None)
    if inner is None and (fixed := _FIXED.get(kind)):
        return Init(kind=fixed, text=text)
    if kind in ("normal", "uniform"):
        if dtype.kind == "int":
            raise InitError(f"{kind} gives fractions, which {dtype.name} cannot hold; use integers(low, high)")
        low, high = _numbers(kind, inner) if inner is not None else (0.0, 1.0)
        return Init(kind="normal" if kind == "normal" else "uniform", text=text, low=low, high=high)
    if kind == "integers":
        bounds = _expressions(inner)
        return Init(kind="integers", text=text, low=bounds[0], high=bounds[1])
    raise InitError(
        f"{text!r} is not an init; known are normal, uniform, zeros, ones, arange, integers(low, high),"
        " normal(mean, deviation), uniform(low, high)"
    )


def _numbers(kind: str, inner: str) -> tuple[float, float]:
    names = "(mean, deviation)" if kind == "normal" else "(low, high)"
    try:
        first, second = (float(part) for part in inner.split(","))
    except ValueError:
        raise InitError(f"{kind} takes two numbers {names}, not ({inner})") from None
    if not (isfinite(first) and isfinite(second)):
        raise InitError(f"{kind} takes finite numbers")
    if second < (0 if kind == "normal" else first):
        raise InitError(f"{kind}({inner}): in {names} the second number is too small")
    return first, second


def _expressions(inner: str | None) -> tuple[Expression, Expression]:
    parts = _split(inner or "")
    if len(parts) != 2:
        raise InitError("integers takes two bounds, (low, high), the upper one exclusive")
    try:
        return parse_expression(parts[0]), parse_expression(parts[1])
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
