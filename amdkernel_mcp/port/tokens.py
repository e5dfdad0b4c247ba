"""The tokens of a CUDA source: what the compiler reads, with offsets and lines. Comments and `#if 0` are left out."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["name", "number", "text", "sign"]
_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f\v]+|\\\r?\n)
    |(?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z))
    |(?P<newline>\n)
    |(?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z))
    |(?P<text>(?:u8|[uUL])?(?:"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'))
    |(?P<number>\.?[0-9](?:[eEpP][+-]|'[0-9a-fA-F]|[\w.])*)
    |(?P<name>[A-Za-z_$][\w$]*)
    |(?P<sign><<<|>>>|<<=|>>=|->|::|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\#\#|.)""",
    re.S | re.X,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One token. `start`, `end`: offsets in the text. `directive`: the word after `#` of the line that it is in."""

    kind: Kind
    text: str
    start: int
    end: int
    line: int
    directive: str = ""


def read_tokens(text: str) -> list[Token]:
    """The tokens of `text`, without those that `#if 0` leaves out."""
    return list(_without_dead_code(list(_all_tokens(text))))


def _all_tokens(text: str) -> Iterator[Token]:
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    fresh, directive = True, ""  # at the start of a line; the directive of this line, `#` until its word comes
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup if match.lastgroup != "mark" else "raw"
        if kind == "newline":
            fresh, directive = True, ""
            continue
        if kind in ("space", "comment"):
            continue
        word = match.group()
        line = bisect_right(starts, match.start())
        if fresh and word == "#":
            directive = "#"
        elif directive == "#":
            directive = word
        fresh = False
        yield Token(
            "text" if kind == "raw" else kind,  # type: ignore[arg-type]
            *(word, match.start(), match.end(), line, directive),
        )


def _without_dead_code(tokens: list[Token]) -> Iterator[Token]:
    dead: list[bool] = []  # of each open conditional, whether what comes now is left out
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token.directive != "#":
            if not any(dead):
                yield token
            position += 1
            continue
        line = [token]
        position += 1
        while position < len(tokens) and tokens[position].directive not in ("", "#"):
            line.append(tokens[position])
            position += 1
        was_dead = any(dead)
        words = [each.text for each in line[1:]]
        if words[:1] in (["if"], ["ifdef"], ["ifndef"]):
            dead.append(words == ["if", "0"])
        elif words[:1] in (["else"], ["elif"]) and dead:
            dead[-1] = words == ["elif", "0"]
        elif words[:1] == ["endif"] and dead:
            dead.pop()
        if not was_dead and not any(dead):
            yield from line


def closing(tokens: Sequence[Token], opened: int) -> int:
    """The place of the bracket that closes the one at `opened`; the end of `tokens` where none does.

    Of the branches of a conditional inside, each begins at the depth at which the first one does.
    """
    pairs = {"(": ")", "[": "]", "{": "}"}
    first = tokens[opened].text
    depth = 0
    branches: list[int] = []
    for place in range(opened, len(tokens)):
        if tokens[place].directive == "#" and place + 1 < len(tokens):
            word = tokens[place + 1].text
            if word in ("if", "ifdef", "ifndef"):
                branches.append(depth)
            elif word in ("else", "elif") and branches:
                depth = branches[-1]
            elif word == "endif" and branches:
                branches.pop()
        elif tokens[place].directive:
            continue
        elif tokens[place].text == first:
            depth += 1
        elif tokens[place].text == pairs[first]:
            depth -= 1
            if depth == 0:
                return place
    return len(tokens)


def arguments(tokens: Sequence[Token], opened: int) -> list[tuple[int, int]]:
    """The arguments of the call whose `(` is at `opened`, as ranges of places in `tokens`."""
    end = closing(tokens, opened)
    found, depth, begin = [], 0, opened + 1
    for place in range(opened + 1, end):
        text = tokens[place].text
        depth += (text in "([{") - (text in ")]}") if len(text) == 1 else 0
        if text == "," and depth == 0:
            found.append((begin, place))
            begin = place + 1
    return [*found, (begin, end)] if begin < end else found


def joined_launches(text: str) -> tuple[str, int]:
    """`text` with `<<<` and `>>>` in one piece, which nvcc takes with spaces inside and clang does not; how many."""
    tokens = read_tokens(text)
    edits: list[tuple[int, int, str]] = []
    count = 0
    for place, token in enumerate(tokens[:-2]):
        opened = _pieces(tokens, place, "<")
        if not opened or (tokens[place - 1].text != ">" and tokens[place - 1].kind != "name"):
            continue
        depth, at = 0, place + opened
        while at < len(tokens) and (depth or tokens[at].text != ";"):
            depth += (tokens[at].text in ("(", "[", "{")) - (tokens[at].text in (")", "]", "}"))
            closed = _pieces(tokens, at, ">") if depth == 0 else 0
            if closed and at + closed < len(tokens) and tokens[at + closed].text == "(":
                ends = [
                    (token.start, tokens[place + opened - 1].end, "<<<"),
                    (tokens[at].start, tokens[at + closed - 1].end, ">>>"),
                ]
                changed = [(start, end, by) for start, end, by in ends if text[start:end] != by]
                edits += changed
                count += bool(changed)
                break
            at += 1
    for start, end, by in reversed(edits):
        text = text[:start] + by + text[end:]
    return text, count


def _pieces(tokens: Sequence[Token], place: int, sign: str) -> int:
    """How many tokens from `place` on make up three of a sign, 0 where they do not."""
    found, at = "", place
    while at < len(tokens) and len(found) < 3 and tokens[at].text in (sign, 2 * sign, 3 * sign):
        found += tokens[at].text
        at += 1
    return at - place if len(found) == 3 else 0
