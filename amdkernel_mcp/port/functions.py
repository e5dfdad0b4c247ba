"""The functions of a CUDA source: where they are, which run on the GPU, what their variables come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from amdkernel_mcp.port.constants import Constants
from amdkernel_mcp.port.tokens import Token, closing, read_tokens

_NARROW = frozenset(["int", "unsigned", "uint", "uint32_t", "int32_t", "unsigned_int"])
_WIDE = frozenset(["long", "uint64_t", "int64_t", "size_t", "uint64", "auto", "lane_mask"])
_THREAD = ("threadIdx", "thread_rank")
_NO_FUNCTIONS = frozenset(
    ["if", "for", "while", "switch", "return", "sizeof", "alignas", "__launch_bounds__", "__attribute__", "defined"]
)


@dataclass(frozen=True)
class Function:
    """A function definition: places of its first word, its name, its parameters' `(` and its body's braces in
    `Source.tokens`."""

    name: str
    start: int
    head: int
    opened: int
    body: int
    end: int
    kernel: bool
    device: bool


@dataclass(frozen=True)
class Source:
    """A source as the lint reads it."""

    text: str
    tokens: Sequence[Token] = field(repr=False)

    @classmethod
    def of(cls, text: str) -> Source:
        """Read it."""
        return cls(text, read_tokens(text))

    @cached_property
    def constants(self) -> Constants:
        """The integers that it names."""
        return Constants(self.tokens)

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """All definitions, in their order."""
        return tuple(_functions(self.tokens))

    @cached_property
    def on_gpu(self) -> tuple[Function, ...]:
        """Those that run on the GPU."""
        return tuple(each for each in self.functions if each.device)

    def enclosing(self, place: int) -> Function | None:
        """The function around a token; None in a macro or outside."""
        inside = [each for each in self.functions if each.body < place < each.end]
        return inside[-1] if inside else None


def _functions(tokens: Sequence[Token]) -> list[Function]:
    found: list[Function] = []
    place, begin = 0, 0  # begin: where the declaration of what comes next begins
    while place < len(tokens):
        text = tokens[place].text
        if tokens[place].directive:
            place += 1
            begin = place
            continue
        if text in (";", "}", "{"):
            begin = place + 1
        elif text == "(" and place > begin and tokens[place - 1].kind == "name":
            if tokens[place - 1].text in ("__launch_bounds__", "__attribute__", "__align__", "alignas"):
                place = closing(tokens, place) + 1
                continue
            body = _body_after(tokens, closing(tokens, place))
            if body is not None and tokens[place - 1].text not in _NO_FUNCTIONS:
                end = closing(tokens, body)
                words = {each.text for each in tokens[begin:place]}
                kernel = "__global__" in words
                name = tokens[place - 1].text
                found.append(
                    Function(name, begin, place - 1, place, body, end, kernel, kernel or "__device__" in words)
                )
                place = begin = end + 1
                continue
        place += 1
    return found


def _body_after(tokens: Sequence[Token], closed: int) -> int | None:
    """The `{` of a definition whose parameters end at `closed`; None for a call or a declaration."""
    place = closed + 1
    while place < len(tokens) and tokens[place].text in ("const", "noexcept", "override", "volatile"):
        place += 1
    if place < len(tokens) and tokens[place].text == ":":  # a constructor's members
        while place < len(tokens) and tokens[place].text not in ("{", ";"):
            place += 1
    return place if place < len(tokens) and tokens[place].text == "{" else None


@dataclass(frozen=True)
class Variables:
    """What is known of the names in one function. Each set holds names."""

    threads: frozenset[str]
    lanes: frozenset[str]
    narrow: frozenset[str]
    ballots: frozenset[str]
    words: frozenset[str]  # pointers to 32 bits

    @classmethod
    def of(cls, source: Source, function: Function) -> Variables:
        """By declarations and first assignments, in their order."""
        tokens = source.tokens
        threads: set[str] = set()
        lanes: set[str] = set()
        narrow: set[str] = set()
        ballots: set[str] = set()
        words: set[str] = set()
        for place in range(function.opened, function.end):
            token = tokens[place]
            if token.text in _NARROW and _is_type(tokens, place):
                narrow |= set(_declared(tokens, place, function.end))
                words |= _pointer(tokens, place)
            if token.text != "=" or tokens[place - 1].kind != "name":
                continue
            name = tokens[place - 1].text
            value = tokens[place + 1 : _end_of_value(tokens, place + 1, function.end)]
            inside = [each.text for each in value]
            if inside[:1] and inside[0] in BALLOTS:
                ballots.add(name)
            elif any(word in _THREAD for word in inside) and "blockIdx" not in inside:
                threads.add(name)
            elif threads & set(inside) and all(each.kind != "name" or each.text in threads for each in value[:1]):
                lanes.add(name)
        return cls(frozenset(threads), frozenset(lanes), frozenset(narrow), frozenset(ballots), frozenset(words))


BALLOTS = frozenset(["__ballot", "__ballot_sync", "__activemask", "__match_any_sync", "__match_all_sync"])
"""What returns a bit for each lane."""


def _is_type(tokens: Sequence[Token], place: int) -> bool:
    around = {tokens[place - 1].text, tokens[place + 1].text}
    return not around & _WIDE and not around & {"long", "(", "<"} - {"("} and tokens[place + 1].text != ")"


def _pointer(tokens: Sequence[Token], place: int) -> set[str]:
    """The pointer or none that a declaration beginning with a type at `place` declares first."""
    at = place + 1
    while at < len(tokens) - 1 and tokens[at].text in (*_NARROW, "const", "__restrict__", "*"):
        at += 1
    stars = sum(each.text == "*" for each in tokens[place:at])
    return {tokens[at].text} if stars == 1 and tokens[at].kind == "name" else set()


def _declared(tokens: Sequence[Token], place: int, end: int) -> list[str]:
    """The names that a declaration beginning with a type at `place` declares."""
    names, depth = [], 0
    at = place + 1
    while at < end and tokens[at].text in (*_NARROW, "const", "__restrict__"):
        at += 1
    fresh = True
    while at < end and tokens[at].text not in (";", "{", "}"):
        text = tokens[at].text
        if text in ("(", "["):
            depth += 1
        elif text in (")", "]"):
            depth -= 1
            if depth < 0:
                break
        elif depth == 0 and text == ",":
            fresh = True
        elif depth == 0 and fresh and tokens[at].kind == "name":
            names.append(text)
            fresh = False
        elif text == "*":
            fresh = False  # a pointer: what it points at is not this name
        at += 1
    return names


def _end_of_value(tokens: Sequence[Token], place: int, end: int) -> int:
    depth = 0
    while place < end:
        text = tokens[place].text
        if text in ("(", "[", "{"):
            depth += 1
        elif text in (")", "]", "}"):
            depth -= 1
        if depth < 0 or (depth == 0 and text in (",", ";")):
            break
        place += 1
    return place


def prints_on_gpu(text: str) -> bool:
    """Whether a function of the GPU calls printf."""
    source = Source.of(text)
    return any(token.text == "printf" for each in source.on_gpu for token in source.tokens[each.body : each.end])


def kernel_lines(text: str) -> dict[str, int]:
    """The lines of the kernels of a source by their names."""
    source = Source.of(text)
    return {each.name: source.tokens[each.head].line for each in source.functions if each.kernel}
