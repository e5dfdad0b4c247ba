"""Arithmetic in text: integer expressions (shapes, grids, LDS sizes) and formulas over counters.

    sum     = product {("+" | "-") product}
    product = unary {operator unary}         integers: * // %    formulas: * /
    unary   = {"-" | "+"} atom
    atom    = number | name | "(" sum ")" | function "(" sum {"," sum} ")"      next_power_of_2 is of integers

The tokens are checked here, so that an error has its position; Python's own parser then gives the tree. `//` and `%`
round down, as in Python. Integers, and every result of `+ - * // %`, are within 64 bits.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

LARGEST = 2**63 - 1
_DIGITS = 19  # of LARGEST
_DEEPEST = 40  # nested parentheses, or signs one after the other

_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip


class ExpressionError(ValueError):
    """What is wrong with an expression, and at which character (from 0; None: with its value as a whole)."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


class _Language(NamedTuple):
    """What a text may contain."""

    number: str
    operators: tuple[str, ...]
    functions: tuple[str, ...]
    longest: int  # characters
    advice: tuple[str, str] = ("", "")  # a sign that people try, and what to write instead


_INTEGERS = _Language(
    r"\d+",
    ("//", "+", "-", "*", "%"),
    ("min", "max", "ceil_div", "next_power_of_2"),
    500,
    ("/", "use // or ceil_div for a quotient"),
)
_FORMULAS = _Language(r"\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", ("+", "-", "*", "/"), ("min", "max"), 4000)


@dataclass(frozen=True)
class Expression:
    """A parsed integer expression; equal texts are equal expressions."""

    text: str
    names: frozenset[str]

    def value(self, scalars: Mapping[str, int | float]) -> int:
        """The value for these scalars. Raises ExpressionError: a name without an integer value, a division by zero,
        an intermediate value beyond 64 bits."""

        def name(word: str) -> int:
            if word not in scalars:
                known = ", ".join(sorted(scalars)) or "none"
                raise ExpressionError(f"{self.text!r} uses {word!r}, which is not a scalar (scalars: {known})")
            value = scalars[word]
            if not isinstance(value, int):
                raise ExpressionError(f"{self.text!r} uses {word!r}, which is {value}: only integers can be used")
            return value

        def apply(sign: str, a: int, b: int) -> int:
            if b == 0 and sign in ("//", "%", "ceil_div"):
                raise ExpressionError(f"{self.text!r} divides by zero")
            result = _APPLY[sign](a, b)
            if abs(result) > LARGEST:
                raise ExpressionError(f"{self.text!r} does not fit into 64 bits")
            return result

        return int(_evaluate(_tree(self.text, _INTEGERS), name, apply))


@dataclass(frozen=True)
class Formula:
    """A formula over counters. Raises ExpressionError on construction when the text is not one."""

    text: str

    def __post_init__(self) -> None:
        _tree(self.text, _FORMULAS)

    @property
    def names(self) -> frozenset[str]:
        """Every counter and constant that the formula needs."""
        return _names(self.text, _FORMULAS)

    def value(self, values: Mapping[str, float]) -> float | None:
        """The number; None when a name has no value or a denominator is zero: what was not counted is not 0."""
        try:
            return _evaluate(_tree(self.text, _FORMULAS), values.__getitem__, lambda sign, a, b: _APPLY[sign](a, b))
        except (KeyError, ZeroDivisionError):
            return None


def parse_expression(text: str | int) -> Expression:
    """The integer expression that `text` holds. Raises ExpressionError with the position of what cannot be read."""
    if isinstance(text, int):
        if abs(text) > LARGEST:
            raise ExpressionError("a number does not fit into 64 bits", 0)
        text = str(text)
    _tree(text, _INTEGERS)
    return Expression(text.strip(), _names(text, _INTEGERS))


def ceil_div(a: int, b: int) -> int:
    """How many pieces of `b` cover `a`."""
    return -(-a // b)


def next_power_of_2(a: int) -> int:
    """The smallest power of two that is not below `a`, as in Triton; 1 of what is not positive."""
    return 1 << max(a - 1, 0).bit_length()


_APPLY: dict[str, Callable[..., int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "ceil_div": ceil_div,
    "next_power_of_2": lambda a, _: next_power_of_2(a),
}


# ---- from a text to a tree ----


class _Token(NamedTuple):
    kind: str  # "number", "name", "sign", or "end"
    text: str
    at: int


@lru_cache(maxsize=4096)
def _tree(text: str, language: _Language) -> ast.expr:
    if len(text) > language.longest:
        raise ExpressionError(f"an expression has at most {language.longest} characters, this one {len(text)}", 0)
    if not text.strip():
        raise ExpressionError("an expression is empty", 0)
    tokens = list(_tokens(text, language))
    _check_order(text, tokens, language)
    plain = [" "] * len(text)  # with one kind of white space and without leading zeros, which Python refuses
    for token in tokens:
        shown = (token.text.lstrip("0") or "0") if token.text.isdecimal() else token.text
        plain[token.at : token.at + len(token.text)] = shown.rjust(len(token.text))
    tree = ast.parse("".join(plain).strip(), mode="eval").body
    _check_calls(text, tree, language)
    return tree


@lru_cache(maxsize=4096)
def _names(text: str, language: _Language) -> frozenset[str]:
    words = {node.id for node in ast.walk(_tree(text, language)) if isinstance(node, ast.Name)}
    return frozenset(words - {*language.functions})


def _tokens(text: str, language: _Language) -> Iterator[_Token]:
    signs = "|".join(re.escape(sign) for sign in (*language.operators, "(", ")", ","))
    pattern = re.compile(rf"(?P<number>{language.number})|(?P<name>[A-Za-z_]\w*)|(?P<sign>{signs})", re.ASCII)
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = pattern.match(text, at)
        if match is None:
            raise _unexpected(text, text[at], at, language)
        token = _Token(match.lastgroup or "", match[0], at)
        if token.text.isdecimal() and (len(token.text.lstrip("0")) > _DIGITS or int(token.text) > LARGEST):
            raise ExpressionError("a number does not fit into 64 bits", at)
        if keyword.iskeyword(token.text):
            raise ExpressionError(f"{text!r}: {token.text!r} is a word of Python and cannot be a name", at)
        yield token
        at = match.end()
    yield _Token("end", "", len(text))


def _check_order(text: str, tokens: list[_Token], language: _Language) -> None:
    """Operands and operators in turn, and every parenthesis closed; a comma stands only between arguments."""
    opened: list[bool] = []  # whether each is of a call
    signs, before = 0, _Token("sign", "(", 0)
    for token in tokens:
        after_operand = before.kind in ("number", "name") or before.text == ")"
        call = token.text == "(" and before.kind == "name"
        if after_operand and not call:
            allowed = {*language.operators, *([")"] if opened else ["end"]), *([","] if opened and opened[-1] else [])}
            fits = (token.text or token.kind) in allowed
        else:
            fits = call or token.kind in ("number", "name") or token.text in ("(", "+", "-")
        if not fits:
            raise _unexpected(text, token.text, token.at, language)
        signs = signs + 1 if not after_operand and token.text in ("+", "-") else 0
        opened = [*opened, call] if token.text == "(" else opened[:-1] if token.text == ")" else opened
        if max(len(opened), signs) > _DEEPEST:
            raise ExpressionError(f"an expression is nested at most {_DEEPEST} deep", token.at)
        before = token


def _unexpected(text: str, word: str, at: int, language: _Language) -> ExpressionError:
    what = f"{word!r} at character {at + 1} was not expected" if word else "it ends too early"
    sign, advice = language.advice
    return ExpressionError(f"{text!r}: {what}{f'; {advice}' if sign and word == sign else ''}", at)


def _check_calls(text: str, tree: ast.expr, language: _Language) -> None:
    indent = len(text) - len(text.lstrip())
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        if name not in language.functions:
            known = f"{', '.join(language.functions[:-1])} and {language.functions[-1]}"
            raise ExpressionError(f"{text!r}: there is no function {name!r}, only {known}", indent + node.col_offset)
        least, most, wanted = _ARGUMENTS[name]
        if not least <= len(node.args) <= most:
            message = f"{text!r}: {name} takes {wanted}, not {len(node.args)}"
            raise ExpressionError(message, indent + node.col_offset)


_ARGUMENTS = {
    **dict.fromkeys(("min", "max"), (2, 500, "two or more arguments")),
    "ceil_div": (2, 2, "two arguments"),
    "next_power_of_2": (1, 1, "one argument"),
}


# ---- from a tree to a value ----


def _evaluate(node: ast.expr, name: Callable[[str], float], apply: Callable[..., float]) -> float:
    waiting: list[ast.BinOp] = []  # a chain such as a + b + c leans to the left: followed without recursion
    while isinstance(node, ast.BinOp):
        waiting.append(node)
        node = node.left
    value = _operand(node, name, apply)
    for each in reversed(waiting):
        value = apply(_SIGNS[type(each.op)], value, _evaluate(each.right, name, apply))
    return value


def _operand(node: ast.expr, name: Callable[[str], float], apply: Callable[..., float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=word):
            return name(word)
        case ast.UnaryOp(op=sign, operand=operand):
            value = _evaluate(operand, name, apply)
            return -value if isinstance(sign, ast.USub) else value
        case ast.Call(func=ast.Name(id=word), args=args):
            values = [_evaluate(arg, name, apply) for arg in args]
            return (
                min(values) if word == "min" else max(values) if word == "max" else apply(word, values[0], values[-1])
            )
    raise AssertionError(f"{ast.unparse(node)!r} passed the check of tokens")
