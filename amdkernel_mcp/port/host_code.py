"""The launches in the host code of a CUDA source, and their arithmetic as expressions of a launch plan."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from amdkernel_mcp.port.functions import Function, Source
from amdkernel_mcp.port.tokens import Token, arguments, closing

_DEPTH = 8
_MOST_THREADS = 1024
_BLOCK = re.compile(r"(?i)block_?(?:size|dim)|threads|tpb")
_XYZ = ("x", "y", "z")
MULTIPROCESSORS = 64
"""What a grid of so many blocks for each multiprocessor is made with: its kernels work with any number."""
_CEILING = re.compile(r"(?i)(?:\w*_)?(?:ceil_?div|div_?ceil|div_?up|cdiv|iDivUp|i?div_?round_?up|ceil_?divide)")
_CASTS = frozenset(
    ["int", "unsigned", "long", "size_t", "uint", "uint32_t", "int64_t", "float", "double", "static_cast"]
)
_SAME_SHAPE = frozenset(["contiguous", "to", "cuda", "clone", "detach", "cpu", "toType"])
_BYTES = {
    "char": 1, "bool": 1, "uint8_t": 1, "int8_t": 1, "half": 2, "__half": 2, "short": 2, "__hip_bfloat16": 2,
    "float": 4, "int": 4, "unsigned": 4, "uint32_t": 4, "double": 8, "long": 8, "size_t": 8, "float2": 8, "float4": 16,
}  # fmt: skip


class HostArithmeticError(ValueError):
    """An expression that no launch plan can have; the message says which part."""


@dataclass(frozen=True)
class Launch:
    """One `kernel<<<grid, block, lds>>>(arguments)`; ranges of places in the source's tokens."""

    kernel: str
    template: tuple[str, ...]
    place: int
    configuration: tuple[tuple[int, int], ...]
    passed: tuple[tuple[int, int], ...]


def launches(source: Source) -> list[Launch]:
    """All launches of the source, in their order."""
    tokens, found = source.tokens, []
    for place, token in enumerate(tokens):
        if token.text != "<<<":
            continue
        end = next((at for at in range(place, len(tokens)) if tokens[at].text == ">>>"), None)
        name, template = _kernel_before(tokens, place)
        if end is None or end + 1 >= len(tokens) or tokens[end + 1].text != "(" or not name:
            continue
        found.append(
            Launch(name, template, place, tuple(_split(tokens, place + 1, end)), tuple(arguments(tokens, end + 1)))
        )
    return found


def _kernel_before(tokens: Sequence[Token], place: int) -> tuple[str, tuple[str, ...]]:
    at = place - 1
    if tokens[at].text != ">":
        return (tokens[at].text if tokens[at].kind == "name" else ""), ()
    depth, begin = 0, at
    while begin > 0:
        depth += (tokens[begin].text == ">") - (tokens[begin].text == "<")
        if depth == 0:
            break
        begin -= 1
    words = ["".join(_spaced(tokens[first:last])) for first, last in _split(tokens, begin + 1, at)]
    return tokens[begin - 1].text, tuple(words)


def _spaced(tokens: Sequence[Token]) -> list[str]:
    """The words as they are written, with a space between two names."""
    names = [*(each.kind == "name" for each in tokens), False]
    return [each.text + " " * (each.kind == "name" and names[n + 1]) for n, each in enumerate(tokens)]


def _split(tokens: Sequence[Token], begin: int, end: int) -> list[tuple[int, int]]:
    found, depth, first = [], 0, begin
    for at in range(begin, end):
        text = tokens[at].text
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        if text == "," and depth == 0:
            found.append((first, at))
            first = at + 1
    return [*found, (first, end)] if first < end else found


class HostCode:
    """The host code around one launch.

    names: what a plan calls what the host passes, by the host's tokens. tensors: shapes by the host's names.
    """

    def __init__(
        self,
        source: Source,
        launch: Launch,
        names: Mapping[str, str],
        tensors: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._source, self._launch, self._names = source, launch, names
        self._function: Function | None = source.enclosing(launch.place)
        self.tensors = dict(tensors or {})
        for name, shape in (tensors or {}).items():
            while (made := self.given(name)) and len(made) > 2 and made[2].text in _SAME_SHAPE:
                name = made[0].text
                self.tensors[name] = shape
        self._block = "256"
        self.assumed: dict[str, str] = {}  # sizes of a block that the host's function is given

    def choose_block(self) -> None:
        """Take a smaller size for a block that nothing in the source gives, where the usual one is too large."""
        try:
            sizes = [int(each) for each in self.sizes(1)]
        except (HostArithmeticError, IndexError, ValueError):
            return
        if self.assumed and math.prod(sizes) > _MOST_THREADS:
            self._block = "16"

    def sizes(self, part: int) -> list[str]:
        """The items of the grid (0) or block (1). Raises HostArithmeticError."""
        begin, end = self._launch.configuration[part]
        return self._sizes(self._source.tokens[begin:end], 0)

    def lds(self) -> str:
        """The bytes of dynamic LDS; `0` where the launch gives none."""
        if len(self._launch.configuration) < 3:
            return "0"
        begin, end = self._launch.configuration[2]
        return self.expression(self._source.tokens[begin:end])

    def elements(self, pointer: Sequence[Token]) -> str | None:
        """How many elements were allocated for a pointer, where the host code shows it."""
        tokens = self._source.tokens
        for place in range(self._launch.place - 1, 0, -1):
            if not re.fullmatch(r"(?:cuda|hip)Malloc(?:Managed)?", tokens[place].text) or tokens[place + 1].text != "(":
                continue
            given = arguments(tokens, place + 1)
            if len(given) < 2 or pointer[-1].text not in [each.text for each in tokens[given[0][0] : given[0][1]]]:
                continue
            whole = [each.text for each in tokens[given[1][0] : given[1][1]]]
            if whole[:2] == ["sizeof", "("] and len(whole) == 4 and whole[2] in _BYTES:
                return "1"
            size = self._without_sizeof(tokens[given[1][0] : given[1][1]], 0)
            try:
                if of_array := self._size_of_array([each for each in whole if each not in ("(", ")")]):
                    return of_array
                return self.expression(size) if size else None
            except HostArithmeticError:
                return None
        return None

    def _size_of_array(self, words: Sequence[str]) -> str | None:
        """Of `sizeof h`, where the host declares `float h[4][N]`. Raises HostArithmeticError."""
        if len(words) != 2 or words[0] != "sizeof":
            return None
        tokens = self._source.tokens
        for place in range(self._launch.place - 1, 0, -1):
            if (
                tokens[place].text != words[1]
                or tokens[place + 1].text != "["
                or tokens[place - 1].text in ("&", "sizeof")
            ):
                continue
            begin = place
            while begin > 0 and tokens[begin - 1].text not in (";", "{", "}", "(", "="):
                begin -= 1
            if tokens[begin].text not in (*_BYTES, "const", "static", "unsigned"):
                continue  # an element of it
            sizes, at = [], place + 1
            while tokens[at].text == "[":
                end = closing(tokens, at)
                sizes.append(self.expression(tokens[at + 1 : end]))
                at = end + 1
            return " * ".join(each if re.fullmatch(r"\w+", each) else f"({each})" for each in sizes)
        return None

    def _without_sizeof(self, tokens: Sequence[Token], depth: int) -> Sequence[Token]:
        if len(tokens) == 1 and depth < _DEPTH and (value := self.given(tokens[0].text)) is not None:
            return self._without_sizeof(value, depth + 1)
        for place, token in enumerate(tokens):
            if token.text != "sizeof":
                continue
            end = closing(tokens, place + 1) if place + 1 < len(tokens) and tokens[place + 1].text == "(" else place + 1
            if place and tokens[place - 1].text == "*":
                return [*tokens[: place - 1], *tokens[end + 1 :]]
            if end + 1 < len(tokens) and tokens[end + 1].text == "*":
                return [*tokens[:place], *tokens[end + 2 :]]
        return ()

    def _sizes(self, tokens: Sequence[Token], depth: int) -> list[str]:
        if tokens and tokens[0].text == "dim3" and len(tokens) > 1 and tokens[1].text in ("(", "{"):
            parts = _split(tokens, 2, closing(tokens, 1))
            return [self.expression(tokens[begin:end]) for begin, end in parts] or ["1"]
        if len(tokens) == 1 and tokens[0].kind == "name" and depth < _DEPTH:
            dimensions = self._dim3(tokens[0].text)
            if dimensions is not None:
                return dimensions
            value = self.given(tokens[0].text)
            if value is not None and tokens[0].text not in self._names:
                return self._sizes(value, depth + 1)
        return [self.expression(tokens)]

    def _dim3(self, name: str) -> list[str] | None:
        """Of `dim3 name(x, y)`, the last one before the launch."""
        tokens = self._source.tokens
        for place in range(self._launch.place, self._function.body if self._function else 0, -1):
            if tokens[place - 1].text == name and tokens[place].text in ("(", "{"):
                before = place - 2
                while before > 0 and tokens[before].text not in (";", "{", "}", "dim3"):
                    before -= 1
                if tokens[before].text == "dim3":
                    parts = _split(tokens, place + 1, closing(tokens, place))
                    return [self.expression(tokens[begin:end]) for begin, end in parts]
            if tokens[place - 1].text == name and tokens[place].text == "=" and tokens[place + 1].text == "dim3":
                return self._sizes(tokens[place + 1 : closing(tokens, place + 2) + 1], 0)
        return self._set_by_member(name)

    def _set_by_member(self, name: str) -> list[str] | None:
        """Of `dim3 name; name.x = 4;`."""
        tokens, found = self._source.tokens, {}
        for place in range(self._function.body if self._function else 0, self._launch.place):
            words = [each.text for each in tokens[place : place + 4]]
            if words[:2] == [name, "."] and words[2] in _XYZ and words[3] == "=":
                end = next(at for at in range(place, len(tokens)) if tokens[at].text == ";")
                found[words[2]] = self.expression(tokens[place + 4 : end])
        return [found.get(axis, "1") for axis in _XYZ] if found else None

    def given(self, name: str) -> Sequence[Token] | None:
        """What the host gave a variable last before the launch, or what a constant stands for."""
        tokens = self._source.tokens
        for place in range(self._launch.place - 1, self._function.body if self._function else 0, -1):
            if (
                tokens[place].text == "="
                and tokens[place - 1].text == name
                and tokens[place - 2].text not in (".", "->")
            ):
                end = place + 1
                depth = 0
                while end < len(tokens) and (depth or tokens[end].text not in (",", ";")):
                    depth += (tokens[end].text in ("(", "{")) - (tokens[end].text in (")", "}"))
                    end += 1
                return tokens[place + 1 : end]
        return self._source.constants.defined(name)

    def expression(self, tokens: Sequence[Token], depth: int = 0) -> str:
        """Integer arithmetic as a launch plan writes it. Raises HostArithmeticError."""
        text = "".join(_spaced(tokens)).strip()
        if text in self._names:
            return self._names[text]
        value = None if self._passes(tokens) else self._source.constants.value(tokens)
        if value is not None and value >= 0:
            return str(value)
        if depth > _DEPTH:
            raise HostArithmeticError(text[:60])
        parts: list[str] = []
        place = 0
        while place < len(tokens):
            token = tokens[place]
            called = place + 1 < len(tokens) and tokens[place + 1].text == "("
            if token.text == "sizeof" and called:
                end = closing(tokens, place + 1)
                parts.append(str(_bytes_of(tokens[place + 2 : end], text)))
                place = end + 1
            elif after := _after_cast(tokens, place):
                place = after
            elif token.kind == "name" and (of := self._of_tensor(tokens, place)):
                parts.append(of[0] if re.fullmatch(r"\w+", of[0]) else f"({of[0]})")
                place = of[1]
            elif token.kind == "name" and [each.text for each in tokens[place + 1 : place + 2]] == ["."]:
                parts.append(self._member(tokens, place, text))
                place += 3
            elif token.text in ("std", "::"):
                place += 1
            elif token.kind == "name" and called:
                end = closing(tokens, place + 1)
                parts.append(self._call(token.text, tokens, place + 1, text, depth))
                place = end + 1
            elif token.kind == "name":
                parts.append(self._name(token, text, depth))
                place += 1
            elif token.kind == "number" or token.text in ("+", "-", "*", "/", "%", "(", ")"):
                digits = re.sub(r"[uUlL.fF]+0?[fF]?$", "", token.text) if token.kind == "number" else token.text
                parts.append({"/": "//"}.get(digits, digits))
                place += 1
            else:
                raise HostArithmeticError(text[:60])
        return _tidy(" ".join(parts))

    def _member(self, tokens: Sequence[Token], place: int, text: str) -> str:
        """`block.x` of a dim3, or the number of multiprocessors."""
        name, member = tokens[place].text, tokens[place + 2].text if place + 2 < len(tokens) else ""
        if member == "multiProcessorCount":
            return str(MULTIPROCESSORS)
        dimensions = self._dim3(name) if member in _XYZ else None
        if dimensions is None:
            raise HostArithmeticError(f"{name}.{member} in {text[:60]}")
        size = dimensions[_XYZ.index(member)] if _XYZ.index(member) < len(dimensions) else "1"
        return size if re.fullmatch(r"\w+", size) else f"({size})"

    def _of_tensor(self, tokens: Sequence[Token], place: int) -> tuple[str, int] | None:
        """`x.numel()`, `x.size(1)`, `x.sizes()[1]` or a name for `x.sizes()` before `[1]`, and the place behind it."""
        name, words = tokens[place].text, [each.text for each in tokens[place + 1 : place + 6]]
        if words[:1] == ["["]:
            sizes = [each.text for each in self.given(name) or ()]
            shape, opened = self.shape(sizes[0]) if sizes[1:] == [".", "sizes", "(", ")"] else None, place + 1
        elif words[:1] == ["."]:
            shape, opened = self.shape(name), place + {"size": 3, "sizes": 5, "numel": 3}.get(words[1], 3)
        else:
            return None
        if shape is None or opened >= len(tokens):
            return None
        if words[:2] == [".", "numel"]:
            return " * ".join(each if re.fullmatch(r"\w+", each) else f"({each})" for each in shape) or "1", place + 5
        end = closing(tokens, opened)
        at = self._source.constants.value(tokens[opened + 1 : end])
        if at is None or not -len(shape) <= at < len(shape):
            return None
        return shape[at], end + 1

    def shape(self, name: str, depth: int = 0) -> tuple[str, ...] | None:
        """Of a tensor of the host that is passed, or that has the shape of one that is."""
        if name in self.tensors or depth > _DEPTH:
            return self.tensors.get(name)
        made = [each.text for each in self.given(name) or ()]
        if len(made) > 2 and made[1] == "." and made[2] in _SAME_SHAPE:
            return self.shape(made[0], depth + 1)
        like = next((at for at, word in enumerate(made) if word.endswith("_like")), None)
        return self.shape(made[like + 2], depth + 1) if like is not None and like + 2 < len(made) else None

    def _passes(self, tokens: Sequence[Token]) -> bool:
        """Whether a name in it is one that the kernel gets."""
        return any(each.text in self._names for each in tokens)

    def _name(self, token: Token, text: str, depth: int) -> str:
        if token.text in self._names:
            return self._names[token.text]
        value = self.given(token.text)
        if value is None and self._is_size_of_block(token.text):
            self.assumed[token.text] = "16" if "sqrt" in token.text else self._block
            return self.assumed[token.text]
        if value is None or any(each.text == token.text for each in value):
            raise HostArithmeticError(f"{token.text} in {text[:60]}")
        inner = self.expression(value, depth + 1)
        return inner if re.fullmatch(r"\w+", inner) else f"({inner})"

    def _is_size_of_block(self, name: str) -> bool:
        """Whether it is a parameter of the host's function, for the size of a block by its name."""
        if self._function is None or not _BLOCK.search(name):
            return False
        given = self._source.tokens[self._function.opened : closing(self._source.tokens, self._function.opened)]
        return any(each.text == name for each in given)

    def _call(self, name: str, tokens: Sequence[Token], opened: int, text: str, depth: int) -> str:
        parts = [tokens[begin:end] for begin, end in arguments(tokens, opened)]
        if name in ("ceil", "ceilf") and len(parts) == 1:
            divide = next((at for at, each in enumerate(parts[0]) if each.text == "/"), None)
            if divide is not None:
                given = [self.expression(each, depth + 1) for each in (parts[0][:divide], parts[0][divide + 1 :])]
                return f"ceil_div({', '.join(given)})"
        if name in ("min", "max") or (_CEILING.fullmatch(name) and len(parts) == 2):
            given = [self.expression(each, depth + 1) for each in parts]
            return f"{name if name in ('min', 'max') else 'ceil_div'}({', '.join(given)})"
        raise HostArithmeticError(f"{name}() in {text[:60]}")


def _after_cast(tokens: Sequence[Token], place: int) -> int | None:
    """The place behind `(unsigned int)` or `static_cast<int>`; None where something else begins."""
    if tokens[place].text == "static_cast":
        words = [each.text for each in tokens[place + 1 : place + 7]]
        return place + 2 + words.index(">") if words[:1] == ["<"] and ">" in words else None
    at = place + 1
    while tokens[place].text == "(" and at < len(tokens) and tokens[at].text in _CASTS:
        at += 1
    return at + 1 if at > place + 1 and at < len(tokens) and tokens[at].text == ")" else None


def _bytes_of(tokens: Sequence[Token], text: str) -> int:
    words = [each.text for each in tokens]
    if "*" in words:
        return 8
    found = next((_BYTES[word] for word in ("long", *words) if word in _BYTES and word in words), None)
    if found is None:
        raise HostArithmeticError(text[:60])
    return found


def _tidy(text: str) -> str:
    """Without spaces inside of brackets, and without brackets around the whole."""
    text = text.replace("( ", "(").replace(" )", ")")
    while text.startswith("(") and text.endswith(")"):
        depths = itertools.accumulate((each == "(") - (each == ")") for each in text[:-1])
        if 0 in depths:
            break
        text = text[1:-1]
    return text
