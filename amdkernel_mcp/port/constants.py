"""Integers that a source names: `#define`, `const`, `constexpr` and enumerators, and arithmetic with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from amdkernel_mcp.port.tokens import Token

_DEPTH = 12
_SUFFIX = re.compile(r"[uUlLzZ]*$")
_LEVELS = (("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), "+-", "*/%")
_CASTS = frozenset(
    ["int", "unsigned", "long", "short", "size_t", "uint", "uint32_t", "int32_t", "uint64_t", "static_cast"]
)


class Constants:
    """What names are worth. A name that is defined more than once with different values has none."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._meant: dict[str, Sequence[Token] | None] = {}
        for name, body in (*_macros(tokens), *_variables(tokens)):
            known = self._meant.get(name, body)
            same = known is not None and [each.text for each in known] == [each.text for each in body]
            self._meant[name] = body if same else None

    def defined(self, name: str) -> Sequence[Token] | None:
        """The tokens that `name` stands for."""
        return self._meant.get(name)

    def value(self, tokens: Sequence[Token]) -> int | None:
        """The value of a constant expression; None where it is none, or is not understood."""
        try:
            return _Reader(self, tokens, 0).whole()
        except _NoConstantError:
            return None


class _NoConstantError(Exception):
    """The expression has something without a known value."""


class _Reader:
    def __init__(self, constants: Constants, tokens: Sequence[Token], depth: int) -> None:
        if depth > _DEPTH or not tokens:
            raise _NoConstantError
        self._constants, self._tokens, self._depth, self._at = constants, tokens, depth, 0

    def whole(self) -> int:
        value = self._binary(0)
        if self._at != len(self._tokens):
            raise _NoConstantError
        return value

    def _next(self) -> str:
        return self._tokens[self._at].text if self._at < len(self._tokens) else ""

    def _binary(self, level: int) -> int:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._next() and self._next() in _LEVELS[level]:
            sign = self._next()
            self._at += 1
            left = _applied(sign, left, self._binary(level + 1))
        return left

    def _unary(self) -> int:
        sign = self._next()
        if sign in ("-", "+", "~", "!"):
            self._at += 1
            value = self._unary()
            return {"-": -value, "+": value, "~": ~value, "!": int(not value)}[sign]
        if sign == "(":
            self._at += 1
            if self._next() in _CASTS:
                while self._next() in _CASTS:
                    self._at += 1
                self._expect(")")
                return self._unary()
            value = self._binary(0)
            self._expect(")")
            return value
        if self._at >= len(self._tokens):
            raise _NoConstantError
        token = self._tokens[self._at]
        self._at += 1
        if token.kind == "number":
            return _number(token.text)
        body = self._constants.defined(token.text) if token.kind == "name" else None
        if body is None:
            raise _NoConstantError
        return _Reader(self._constants, body, self._depth + 1).whole()

    def _expect(self, text: str) -> None:
        if self._next() != text:
            raise _NoConstantError
        self._at += 1


def _applied(sign: str, left: int, right: int) -> int:
    if (sign in ("/", "%") and right == 0) or (sign in ("<<", ">>") and not 0 <= right < 64):
        raise _NoConstantError
    results: dict[str, Callable[[], int]] = {
        "+": lambda: left + right, "-": lambda: left - right, "*": lambda: left * right, "/": lambda: left // right,
        "%": lambda: left % right, "<<": lambda: left << right, ">>": lambda: left >> right, "&": lambda: left & right,
        "|": lambda: left | right, "^": lambda: left ^ right, "==": lambda: left == right, "!=": lambda: left != right,
        "<": lambda: left < right, ">": lambda: left > right, "<=": lambda: left <= right, ">=": lambda: left >= right,
        "&&": lambda: bool(left and right), "||": lambda: bool(left or right),
    }  # fmt: skip
    return int(results[sign]())


def _number(text: str) -> int:
    digits = _SUFFIX.sub("", text.replace("'", ""))
    try:
        return int(digits, 8) if re.fullmatch(r"0[0-7]+", digits) else int(digits, 0)
    except ValueError:
        raise _NoConstantError from None


def _macros(tokens: Sequence[Token]) -> list[tuple[str, Sequence[Token]]]:
    found: list[tuple[str, Sequence[Token]]] = []
    for place, token in enumerate(tokens):
        if token.directive != "#" or place + 2 >= len(tokens) or tokens[place + 1].text != "define":
            continue
        end = place + 3
        while end < len(tokens) and tokens[end].directive == "define":
            end += 1
        name = tokens[place + 2]
        takes = end > place + 3 and tokens[place + 3].text == "(" and tokens[place + 3].start == name.end
        if not takes and end > place + 3:
            found.append((name.text, tokens[place + 3 : end]))
    return found


def _variables(tokens: Sequence[Token]) -> list[tuple[str, Sequence[Token]]]:
    """`const int N = 32;`, `constexpr unsigned N{32};` and `enum { N = 32 }`."""
    found: list[tuple[str, Sequence[Token]]] = []
    for place, token in enumerate(tokens):
        if token.text not in ("const", "constexpr", "enum") or token.directive:
            continue
        end = place + 1
        while end < len(tokens) and tokens[end].text not in ";){" and end < place + 40:
            end += 1
        if token.text == "enum" and end < len(tokens) and tokens[end].text == "{":
            while end < len(tokens) and tokens[end].text not in ";}":
                end += 1
        for at in range(place + 1, min(end, len(tokens) - 2)):
            if tokens[at].text == "=" and tokens[at - 1].kind == "name":
                stop = at + 1
                while stop < len(tokens) and tokens[stop].text not in ",;}":
                    stop += 1
                found.append((tokens[at - 1].text, tokens[at + 1 : stop]))
    return found
