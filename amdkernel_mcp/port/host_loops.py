"""Loops of the host around launches, written out where the number of their turns is known."""

from __future__ import annotations

from collections.abc import Sequence

from amdkernel_mcp.port.functions import Function, Source
from amdkernel_mcp.port.tokens import Token, closing

MOST_TURNS = 32
_MOST_LOOPS = 64
_TYPES = frozenset(["int", "unsigned", "long", "size_t", "auto", "const", "uint", "uint32_t", "int64_t"])
_CHANGES = frozenset(["=", "+=", "-=", "*=", "/=", "<<=", ">>=", "&=", "|=", "^=", "%=", "++", "--"])
_LEAVES = frozenset(["break", "continue", "return", "goto", "swap", "if", "while", "do"])


def without_loops(text: str, name: str) -> str:
    """The text with the loops around launches of the host function `name` written out.

    A loop stays where its turns depend on a size, are more than MOST_TURNS, or where its body does more than launch:
    what it changes, such as two pointers that change places, differs from turn to turn.
    """
    for _ in range(_MOST_LOOPS):
        source = Source.of(text)
        host = next((each for each in reversed(source.functions) if each.name == name and not each.device), None)
        made = _first_written_out(source, host) if host else None
        if made is None:
            return text
        text = made
    return text


def _first_written_out(source: Source, host: Function) -> str | None:
    tokens = source.tokens
    for at in range(host.body, host.end):
        if tokens[at].text != "for" or tokens[at + 1].text != "(":
            continue
        head = closing(tokens, at + 1)
        end = _end_of_body(tokens, head + 1)
        body = tokens[head + 1 : end + 1]
        if not any(each.text == "<<<" for each in body):
            continue
        turns = _turns(source, at + 2, head)
        if turns is None or _does_more(body):
            continue
        name, values = turns
        lines = source.text.count("\n", tokens[at].start, tokens[end].end)  # what follows keeps its line
        written = " ".join("{ " + _with(body, name, value) + " }" for value in values)
        return source.text[: tokens[at].start] + written + "\n" * lines + source.text[tokens[end].end :]
    return None


def _end_of_body(tokens: Sequence[Token], begin: int) -> int:
    """The place of the last token of a statement."""
    while tokens[begin].text == "for":
        begin = closing(tokens, begin + 1) + 1
    if tokens[begin].text == "{":
        return closing(tokens, begin)
    return next(at for at in range(begin, len(tokens)) if tokens[at].text == ";")


def _with(body: Sequence[Token], name: str, value: int) -> str:
    return " ".join(str(value) if (each.kind, each.text) == ("name", name) else each.text for each in body)


def _does_more(body: Sequence[Token]) -> bool:
    """Whether the body changes something, or leaves the loop. Heads of inner loops do not count."""
    at = 0
    while at < len(body):
        text = body[at].text
        if text == "for":
            at = closing(body, at + 1) + 1
            continue
        if text in _LEAVES or text in _CHANGES or body[at].directive:
            return True
        at += 1
    return False


def _turns(source: Source, begin: int, end: int) -> tuple[str, list[int]] | None:
    """The variable of `int k = 0; k < 4; k++` and its values; None where they are not known."""
    parts, first = [], begin
    for at in range(begin, end + 1):
        if at == end or source.tokens[at].text == ";":
            parts.append(source.tokens[first:at])
            first = at + 1
    if len(parts) != 3:
        return None
    start, condition, step = parts
    while start and start[0].text in _TYPES:
        start = start[1:]
    if len(start) < 3 or start[1].text != "=" or len(condition) < 3 or condition[0].text != start[0].text:
        return None
    value, limit = source.constants.value(start[2:]), source.constants.value(condition[2:])
    found: list[int] = []
    while value is not None and limit is not None and len(found) <= MOST_TURNS:
        if not _holds(condition[1].text, value, limit):
            return start[0].text, found
        found.append(value)
        value = _next(source, start[0].text, [*step], value)
    return None


def _holds(sign: str, value: int, limit: int) -> bool:
    return {"<": value < limit, "<=": value <= limit, ">": value > limit, ">=": value >= limit}.get(
        sign, value != limit
    )


def _next(source: Source, name: str, step: Sequence[Token], value: int) -> int | None:
    words = [each.text for each in step]
    if name not in words:
        return None
    if len(words) == 2:
        return value + 1 if "++" in words else value - 1 if "--" in words else None
    by = source.constants.value(step[2:])
    if len(words) < 3 or by is None or by <= 0 or words[0] != name:
        return None
    if words[1] in ("/=", ">>="):
        return value // by if words[1] == "/=" else value >> min(by, 63)
    return {"+=": value + by, "-=": value - by, "*=": value * by, "<<=": value << min(by, 63)}.get(words[1])
