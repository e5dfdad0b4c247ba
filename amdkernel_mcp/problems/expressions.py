"""Integer expressions over the scalars of a case: shapes, grids, LDS sizes.

    sum     = product {("+" | "-") product}
    product = unary {("*" | "//" | "%") unary}
    unary   = {"-" | "+"} atom
    atom    = number | name | "(" sum ")" | ("min" | "max" | "ceil_div") "(" sum {"," sum} ")"

`//` and `%` round down, as in Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

LARGEST = 2**63 - 1
_LONGEST = 500  # characters
_DEEPEST = 40  # nested parentheses or signs
_TOKEN = re.compile(r"\s*(?:(?P<number>\d+)|(?P<name>[A-Za-z_]\w*)|(?P<sign>//|[-+*%(),]))", re.ASCII)

Evaluate = Callable[[Mapping[str, int]], int]


class ExpressionError(Exception):
    """What is wrong with an expression, and at which character (from 0; None: with its value as a whole)."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


@dataclass(frozen=True)
class Expression:
    """A parsed expression; equal texts are equal expressions."""

    text: str
    names: frozenset[str]

    def value(self, scalars: Mapping[str, int | float]) -> int:
        """The value for these scalars. Raises ExpressionError: a name without an integer value, a division by zero,
        an intermediate value beyond 64 bits."""
        return _Parser(self.text).parse()(_integers(self, scalars))


def parse_expression(text: str | int) -> Expression:
    """The expression that `text` holds. Raises ExpressionError with the position of what cannot be read."""
    if isinstance(text, int):
        text = str(text)
    parser = _Parser(text)
    parser.parse()
    return Expression(text.strip(), frozenset(parser.names))


def ceil_div(a: int, b: int) -> int:
    """How many pieces of `b` cover `a`."""
    return -(-a // b)


def _integers(expression: Expression, scalars: Mapping[str, int | float]) -> dict[str, int]:
    values = {}
    for name in sorted(expression.names):
        if name not in scalars:
            known = ", ".join(sorted(scalars)) or "none"
            raise ExpressionError(
                f"{expression.text!r} uses {name!r}, which is no scalar (scalars: {known})",
                expression.text.find(name),
            )
        value = scalars[name]
        if not isinstance(value, int):
            raise ExpressionError(f"{expression.text!r} uses {name!r}, which is {value}: only integers can be used")
        values[name] = value
    return values


_FUNCTIONS: dict[str, Callable[..., int]] = {"min": min, "max": max, "ceil_div": ceil_div}
_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "ceil_div": ceil_div,
}


class _Parser:
    """Recursive descent; each rule returns a function from scalar values to the value."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: set[str] = set()
        self._at = 0
        self._depth = 0

    def parse(self) -> Evaluate:
        if len(self.text) > _LONGEST:
            raise ExpressionError(f"an expression has at most {_LONGEST} characters, this one {len(self.text)}", 0)
        if not self.text.strip():
            raise ExpressionError("an expression is empty", 0)
        result = self._sum()
        if self._peek() is not None:
            raise self._unexpected()
        return result

    def _sum(self) -> Evaluate:
        return self._chain(self._product, ("+", "-"))

    def _product(self) -> Evaluate:
        return self._chain(self._unary, ("*", "//", "%"))

    def _chain(self, operand: Callable[[], Evaluate], signs: tuple[str, ...]) -> Evaluate:
        terms: list[tuple[str, Evaluate]] = [("+", operand())]
        while (sign := self._peek()) in signs and sign is not None:
            self._next()
            terms.append((sign, operand()))
        if len(terms) == 1:
            return terms[0][1]

        def evaluate(scalars: Mapping[str, int]) -> int:
            total = terms[0][1](scalars)
            for sign, term in terms[1:]:
                total = self._apply(sign, total, term(scalars))
            return total

        return evaluate

    def _unary(self) -> Evaluate:
        if self._peek() not in ("-", "+"):
            return self._atom()
        sign = self._next()
        operand = self._nested(self._unary)
        return (lambda scalars: -operand(scalars)) if sign == "-" else operand

    def _atom(self) -> Evaluate:
        token = self._peek()
        if token is None or not (token[0].isalnum() or token[0] in "_("):
            raise self._unexpected()
        start = self._token_start()
        self._next()
        if token == "(":
            inner = self._nested(self._sum)
            self._expect(")")
            return inner
        if token[0].isdigit():
            number = int(token)
            if number > LARGEST:
                raise ExpressionError(f"{token} does not fit into 64 bits", start)
            return lambda _: number
        if self._peek() == "(":
            return self._call(token, start)
        self.names.add(token)
        return lambda scalars: scalars[token]

    def _call(self, name: str, start: int) -> Evaluate:
        if name not in _FUNCTIONS:
            raise ExpressionError(f"{self.text!r}: there is no function {name!r}, only min, max and ceil_div", start)
        self._expect("(")
        arguments = [self._nested(self._sum)]
        while self._peek() == ",":
            self._next()
            arguments.append(self._nested(self._sum))
        self._expect(")")
        if len(arguments) < 2 or (name == "ceil_div" and len(arguments) > 2):
            wanted = "two arguments" if name == "ceil_div" else "two or more arguments"
            raise ExpressionError(f"{self.text!r}: {name} takes {wanted}, not {len(arguments)}", start)
        if name == "ceil_div":
            return lambda scalars: self._apply(name, arguments[0](scalars), arguments[1](scalars))
        function = _FUNCTIONS[name]
        return lambda scalars: function(*(argument(scalars) for argument in arguments))

    def _apply(self, sign: str, a: int, b: int) -> int:
        if b == 0 and sign in ("//", "%", "ceil_div"):
            raise ExpressionError(f"{self.text!r} divides by zero")
        result = _OPERATIONS[sign](a, b)
        if abs(result) > LARGEST:
            raise ExpressionError(f"{self.text!r} does not fit into 64 bits")
        return result

    def _nested(self, rule: Callable[[], Evaluate]) -> Evaluate:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ExpressionError(f"an expression is nested at most {_DEEPEST} deep", self._at)
        result = rule()
        self._depth -= 1
        return result

    def _peek(self) -> str | None:
        match = _TOKEN.match(self.text, self._at)
        if match:
            return match[match.lastgroup or 0]
        return self.text[self._token_start()] if self.text[self._at :].strip() else None

    def _token_start(self) -> int:
        return self._at + len(self.text[self._at :]) - len(self.text[self._at :].lstrip())

    def _next(self) -> str:
        match = _TOKEN.match(self.text, self._at)
        if match is None:
            raise self._unexpected()
        self._at = match.end()
        return match[match.lastgroup or 0]

    def _expect(self, sign: str) -> None:
        if self._peek() != sign:
            raise self._unexpected(f"expected {sign!r}")
        self._next()

    def _unexpected(self, wanted: str = "") -> ExpressionError:
        start = self._token_start()
        token = self._peek()
        what = "it ends too early" if token is None else f"{token!r} at character {start + 1} was not expected"
        advice = "; use // or ceil_div for a quotient" if token == "/" else ""
        return ExpressionError(f"{self.text!r}: {what}{'; ' + wanted if wanted else ''}{advice}", start)
