"""What a section is about, by rule: its first sentences, and its name spelled out in plain words.

`hipMemcpyDtoDAsync` is asked for as "copy from device to device asynchronously", `SQ_WAVES_LT_32` as "waves with less
than 32 threads". Both are indexed in a column of their own, so that they count for more than words further down.
"""

import re
from collections.abc import Iterator, Mapping

from amdkernel_mcp.search.index.blas_names import routine_words

LEAD_CHARS = 300
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_PART = re.compile(r"[A-Z][a-z]+to[A-Z](?![a-z])|[A-Z]to[A-Z]|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n\s*\n")
_A_NAME = re.compile(r"\w*(?:_\w|[a-z][A-Z])\w*")


def section_summary(heading: str, text: str, spelled: Mapping[str, str]) -> str:
    """The lead of `text` and what the identifier in `heading` says; `spelled` maps its parts to plain words."""
    return " ".join([lead(text), *(word for name in _A_NAME.findall(heading) for word in spell_out(name, spelled))])


def lead(text: str) -> str:
    """The first sentences of the prose, at most LEAD_CHARS characters; code and tables left out."""
    prose = "\n".join(line for line in _FENCED.sub("", text).split("\n") if not line.lstrip().startswith(("|", "+-")))
    prose = prose.strip()
    if len(prose) <= LEAD_CHARS:
        return prose
    ends = [found.end() for found in _SENTENCE_END.finditer(prose, 0, LEAD_CHARS)]
    return prose[: ends[-1] if ends else LEAD_CHARS]


def spell_out(name: str, spelled: Mapping[str, str]) -> Iterator[str]:
    """The parts of an identifier in plain words, those only that say more than the part itself."""
    yield from routine_words(name)
    for part in name.strip("_").split("_"):
        for piece in [part, *_PART.findall(part)] if part else []:
            plain = spelled.get(piece.lower())
            if plain:
                yield plain
