"""Names with a wildcard: `v_mfma_f32_*` is every name of the index that fits."""

import re

from amdkernel_mcp.search.index.index import Index

MOST_NAMES = 24
_SHORTEST_STEM = 3
_PATTERN = re.compile(r"[A-Za-z_][\w*]*\*[\w*]*")


def names_like(index: Index, text: str) -> tuple[tuple[str, ...], list[str]]:
    """The names, in lower case, that fit the patterns in `text`, and a sentence for each pattern.

    The most frequent names of a pattern are taken; of a pattern with fewer than three letters none is.
    """
    names: list[str] = []
    told: list[str] = []
    for pattern in dict.fromkeys(_PATTERN.findall(text)):
        # Names are indexed without underscores at their ends; all but `*` is a word character, and means itself.
        glob = pattern.lower().lstrip("_")
        if len(glob.replace("*", "").replace("_", "")) < _SHORTEST_STEM or glob.startswith("*"):
            continue
        rows = index.connection.execute(
            "SELECT folded, word FROM words WHERE folded GLOB ? ORDER BY documents DESC, folded LIMIT ?",
            (glob, MOST_NAMES),
        ).fetchall()
        if rows:
            names += [folded for folded, _ in rows]
            more = " and more" if len(rows) == MOST_NAMES else ""
            told.append(
                f"{pattern} was read as {', '.join(word for _, word in rows[:6])}{'…' if rows[6:] else ''}{more}"
            )
    return tuple(dict.fromkeys(names)), told
