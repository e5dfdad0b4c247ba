"""The sentence of a passage that answers a question, for answers that must be short."""

import re

from amdkernel_mcp.search.index.tokens import tokens, tokens_of_word
from amdkernel_mcp.search.query.query import Query

_END = re.compile(r"(?<=[.!?:;])\s+|\n+")
_WORD = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")
_NAME_WORTH, _WORD_WORTH = 3.0, 1.0
_LEAST_CHARS = 40  # of a cut sentence; less of it says nothing


def answering(text: str, query: Query | str, room: int) -> str:
    """The sentences, lines or rows of `text` that hold most of the query's words, up to `room` characters.

    What is left out before and after is an ellipsis; a text that fits comes back as it is.
    """
    text = text.strip()
    if len(text) <= room:
        return text
    asked = set(tokens(query) if isinstance(query, str) else query.asked)
    spans = _spans(text)
    worth = [_worth(text[start:end], asked) for start, end in spans]
    first, last = _best_run(spans, worth, room - 4)  # room for two ellipses
    start, end = spans[first][0], spans[last][1]
    if end - start > room - 4:
        start, end = _around(text, start, end, asked, room - 4)
    before, after = ("… " if text[:start].strip(" …") else ""), (" …" if text[end:].strip(" …") else "")
    return f"{before}{text[start:end].strip()}{after}"


def _spans(text: str) -> list[tuple[int, int]]:
    """Where each sentence or line begins and ends."""
    starts = [0, *(found.end() for found in _END.finditer(text))]
    ends = [*(found.start() for found in _END.finditer(text)), len(text)]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if text[start:end].strip()]


def _worth(sentence: str, asked: set[str]) -> float:
    """A word counts once, a name more than a plain word."""
    held = {token for word in _WORD.findall(sentence) for token in tokens_of_word(word)} & asked
    return sum(_NAME_WORTH if "_" in token or not token.isalpha() else _WORD_WORTH for token in held)


def _best_run(spans: list[tuple[int, int]], worth: list[float], room: int) -> tuple[int, int]:
    """First and last of the neighbouring sentences that fit and are worth most together; the best one where it alone
    does not fit."""
    best, run = -1.0, (0, 0)
    for first in range(len(spans)):
        total = 0.0
        for last in range(first, len(spans)):
            if last > first and spans[last][1] - spans[first][0] > room:
                break
            total += worth[last]
            if total > best:
                best, run = total, (first, last)
    first, last = run
    while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= room:
        last += 1  # what follows explains, so it has the rest of the room
    return first, last


def _around(text: str, start: int, end: int, asked: set[str], room: int) -> tuple[int, int]:
    """The part of one long sentence around its first word that was asked for, cut at spaces."""
    hits = (
        found.start()
        for found in _WORD.finditer(text, start, end)
        if any(token in asked for token in tokens_of_word(found[0]))
    )
    begin = min(max(next(hits, start) - room // 3, start), max(end - room, start))
    if begin > start:
        space = text.find(" ", begin, begin + _LEAST_CHARS)
        begin = space + 1 if space >= 0 else begin
    finish = min(begin + room, end)
    if finish < end:
        space = max(text.rfind(" ", begin + _LEAST_CHARS, finish), text.rfind("\n", begin + _LEAST_CHARS, finish))
        finish = space if space > 0 else finish
    return begin, finish
