"""Sections to chunks of at most 2,000 characters, cut between paragraphs or rows."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

WHOLE_CHARS = 2000
PACKED_CHARS = 1600
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
MOST_HEAD_LINES = 8
LONGEST_HEAD_CHARS = 400
_TABLE_RULE = re.compile(r"^[ \t]*\|[ \t:|-]*-{2,}[ \t:|-]*$", re.MULTILINE)
_LIKE_A_ROW = re.compile(r"^\s*\||\S {2,}\S|^ {2,}\S|^\s*\"[^\"]*\",")


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
    heads = _table_heads(text)
    spans: list[tuple[int, int]] = []
    for start, end in _pieces(text):
        if spans and end - spans[-1][0] <= PACKED_CHARS and not _starts_table(heads, start, end):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return [Chunk(start, end, _head_above(text, heads, start, end)) for start, end in spans]


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Paragraphs, and the parts of a paragraph that is too long."""
    start = 0
    ends = [found.end() for found in _PARAGRAPH.finditer(text)]
    for end in [*ends, len(text)]:
        if end - start > PACKED_CHARS:
            yield from _lines(text, start, end)
        elif end > start:
            yield start, end
        start = end


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A long paragraph, cut between lines; a line that is longer than a chunk is cut itself."""
    at, begun = start, start
    while at < end:
        newline = text.find("\n", at, end)
        after = min(end if newline < 0 else newline + 1, at + PACKED_CHARS)
        if after - begun > PACKED_CHARS and at > begun:
            yield begun, at
            begun = at
        at = after
    if at > begun:
        yield begun, at


def _table_heads(text: str) -> list[tuple[int, int, str]]:
    """(begin of the head, end of the rule below it, head) of every table."""
    heads = []
    for rule in _TABLE_RULE.finditer(text):
        begin = rule.start()
        for _ in range(MOST_HEAD_LINES):
            line = text.rfind("\n", 0, max(begin - 1, 0)) + 1
            if begin == 0 or not text[line : begin - 1].strip():
                break
            begin = line
        if begin < rule.start():
            heads.append((begin, rule.end(), text[begin : rule.end()].strip("\n")[:LONGEST_HEAD_CHARS]))
    return heads


def _starts_table(heads: list[tuple[int, int, str]], start: int, end: int) -> bool:
    """A table of more than a few rows begins a chunk of its own."""
    return end - start > PACKED_CHARS // 2 and any(start <= begin < end for begin, _, _ in heads)


def _head_above(text: str, heads: list[tuple[int, int, str]], start: int, end: int) -> str:
    """The head of the table that the span continues; empty where it holds the head itself, or no rows."""
    above = [head for _, rule_end, head in heads if rule_end <= start]
    lines = [line for line in text[start:end].split("\n") if line.strip()]
    rows = sum(1 for line in lines if _LIKE_A_ROW.search(line))
    return above[-1] if above and rows * 2 > len(lines) else ""
