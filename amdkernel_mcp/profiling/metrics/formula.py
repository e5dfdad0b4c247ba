"""Formulas over counters: the text that the documentation prints is the text that is computed.

A formula is arithmetic (`+ - * /`), `min`, `max`, numbers and names. A name that has no value makes the whole value
None, and so does a division by zero: what was not counted is not 0.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property


class _NoValue(Exception):
    """A counter is absent or a denominator is zero."""


@dataclass(frozen=True)
class Formula:
    """One parsed expression. Raises ValueError on construction when the text is no formula."""

    text: str

    def __post_init__(self) -> None:
        _parse(self.text)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every counter and constant that the formula needs."""
        called = {"min", "max"}
        return frozenset(n.id for n in ast.walk(_parse(self.text)) if isinstance(n, ast.Name)) - called

    @cached_property
    def _tree(self) -> ast.expr:
        return _parse(self.text)

    def value(self, values: Mapping[str, float]) -> float | None:
        """The number, or None when a name has no value or a denominator is zero."""
        try:
            return _evaluate(self._tree, values)
        except _NoValue:
            return None


@cache
def _parse(text: str) -> ast.expr:
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"not a formula: {text!r}") from error
    for node in ast.walk(tree):
        if not isinstance(node, _ALLOWED):
            raise ValueError(f"{type(node).__name__} has no place in the formula {text!r}")
    return tree


_ALLOWED = (
    ast.BinOp, ast.UnaryOp, ast.USub, ast.Add, ast.Sub, ast.Mult, ast.Div,
    ast.Name, ast.Load, ast.Constant, ast.Call,
)  # fmt: skip


def _evaluate(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            if name not in values:
                raise _NoValue
            return values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, values)
        case ast.BinOp(left=left, op=operator, right=right):
            return _combine(operator, _evaluate(left, values), _evaluate(right, values))
        case ast.Call(func=ast.Name(id="min"), args=args):
            return min(_evaluate(arg, values) for arg in args)
        case ast.Call(func=ast.Name(id="max"), args=args):
            return max(_evaluate(arg, values) for arg in args)
    raise ValueError(f"{ast.unparse(node)!r} has no place in a formula")


def _combine(operator: ast.operator, left: float, right: float) -> float:
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    if isinstance(operator, ast.Mult):
        return left * right
    if right == 0:
        raise _NoValue
    return left / right
