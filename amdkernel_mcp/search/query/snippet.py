"""The 300 to 600 characters of a passage that show best why it was found."""

import re

from amdkernel_mcp.search.index.tokens import tokens_of_word
from amdkernel_mcp.search.query.query import Query

WHOLE_CHARS = 700
WINDOW_CHARS = 560
LEAST_CHARS = 300
MOST_WINDOWS = 20
_PLAIN_WORD_CHARS = 12
_LEAD_CHARS = 140  # how far before the first word that matched a snippet may begin
_WORD = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")


def snippet(text: str, start: int, finish: int, query: Query) -> str:
    """The part of `text[start:finish]` that holds most of the query's words; all of a short section."""
    if len(text) <= WHOLE_CHARS:
        return text.strip()
    if finish - start < LEAST_CHARS:  # the short rest of a long section says little without the text before it
        start = max(0, finish - WINDOW_CHARS)
    passage = text[start:finish]
    if len(passage) <= WINDOW_CHARS:
        return _marked(text, start, finish)
    wanted = dict.fromkeys(query.related, 0.3) | {token: _worth(token) for token in query.asked}
    hits = [
        (found.start(), token)
        for found in _WORD.finditer(passage)
        for token in tokens_of_word(found[0])
        if token in wanted
    ]
    best, best_at = -1.0, 0
    for at, _ in hits[:: len(hits) // MOST_WINDOWS + 1] or [(0, "")]:
        inside = {token for where, token in hits if at <= where < at + WINDOW_CHARS - _LEAD_CHARS}
        worth = sum(wanted[token] for token in inside)
        if worth > best:
            best, best_at = worth, at
    begin = _line_start(passage, min(best_at, len(passage) - LEAST_CHARS))
    return _marked(text, start + begin, start + min(begin + WINDOW_CHARS, len(passage)))


def _worth(token: str) -> float:
    """A whole identifier says more than one of its pieces or a plain word."""
    return 5.0 if "_" in token or len(token) > _PLAIN_WORD_CHARS else 1.0


def _line_start(passage: str, at: int) -> int:
    """A good place to begin: the line's start if it is near, else a little context before the word."""
    if at <= _LEAD_CHARS:
        return 0
    line = passage.rfind("\n", 0, at) + 1
    if at - line <= _LEAD_CHARS:
        return line
    space = passage.find(" ", at - 100, at)
    return space + 1 if space >= 0 else at


def _marked(text: str, start: int, finish: int) -> str:
    """The span cut at words, with an ellipsis at each end where the section continues."""
    if finish < len(text):
        space = max(text.rfind(" ", start, finish), text.rfind("\n", start, finish))
        finish = space if space > start + 200 else finish
    shown = text[start:finish].strip("\n").rstrip()
    before = "… " if text[:start].strip() else ""
    after = " …" if text[finish:].strip() else ""
    return f"{before}{shown}{after}"
