"""Sections to chunks of a size that ranking likes: at most 2,000 characters, cut between paragraphs or rows."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

WHOLE_CHARS = 2000
PACKED_CHARS = 1600
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_TABLE_RULE = re.compile(r"^\s*\|?[\s:|-]*-{2,}[\s:|-]*$")


@dataclass(frozen=True)
class Chunk:
    """A span of a section's text; `header` is the head of the table that it continues, or empty."""

    start: int
    end: int
    header: str = ""


def chunks_of(text: str) -> list[Chunk]:
    """The chunks of a section; one where it is short."""
    if len(text) <= WHOLE_CHARS:
        return [Chunk(0, len(text))]
    packed: list[Chunk] = []
    for piece in _pieces(text):
        last = packed[-1] if packed else None
        if last and piece.end - last.start <= PACKED_CHARS and not piece.header:
            packed[-1] = Chunk(last.start, piece.end, last.header)
        else:
            packed.append(piece)
    return packed


def _pieces(text: str) -> Iterator[Chunk]:
    """Paragraphs, and the parts of a paragraph that is too long."""
    start = 0
    ends = [found.end() for found in _PARAGRAPH.finditer(text)]
    for end in [*ends, len(text)]:
        if end - start <= PACKED_CHARS:
            if end > start:
                yield Chunk(start, end)
        else:
            yield from _lines(text, start, end)
        start = end


def _lines(text: str, start: int, end: int) -> Iterator[Chunk]:
    """A long paragraph by lines; rows of a table remember its head."""
    header = _table_head(text[start : start + 2000])
    at, begun = start, start
    while at < end:
        newline = text.find("\n", at, end)
        after = end if newline < 0 else newline + 1
        after = min(after, at + PACKED_CHARS)
        if after - begun > PACKED_CHARS and at > begun:
            yield Chunk(begun, at, header if begun > start else "")
            begun = at
        at = after
    if at > begun:
        yield Chunk(begun, at, header if begun > start else "")


def _table_head(text: str) -> str:
    lines = text.split("\n", 4)
    for at, line in enumerate(lines[1:4], 1):
        if _TABLE_RULE.match(line):
            return "\n".join(lines[: at + 1])[:400]
    return ""
