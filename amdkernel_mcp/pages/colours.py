"""The words of a kernel file by kind, for its colours. A text that no lexer knows is one kind: plain."""

from __future__ import annotations

from collections.abc import Sequence

Piece = tuple[str, str]
"""A class of page.css, empty for plain text, and the text."""

MOST_CHARS = 1 << 18
"""A longer file has no colours."""


def coloured(text: str, file_name: str) -> Sequence[Sequence[Piece]]:
    """The pieces of each line, without its end. Together they are the text."""
    lines = text.splitlines()
    if len(text) > MOST_CHARS or "\r" in text or "\f" in text or "\v" in text:  # lines end elsewhere for a lexer
        return [[("", line)] for line in lines]
    from pygments.lexers import CudaLexer, PythonLexer

    lexer = (PythonLexer if file_name.endswith(".py") else CudaLexer)(stripnl=False, ensurenl=False)
    found: list[list[Piece]] = [[]]
    for token, value in lexer.get_tokens(text):
        for number, part in enumerate(value.split("\n")):
            if number:
                found.append([])
            if part:
                found[-1].append((_class(str(token)), part))
    if len(found) == len(lines) + 1:
        found.pop()
    same = [("".join(part for _, part in line)) for line in found] == lines
    return found if same else [[("", line)] for line in lines]


def _class(token: str) -> str:
    """`Token.Keyword.Type` has the class `type`."""
    for beginning, name in _CLASSES:
        if token.startswith(beginning):
            return name
    return ""


_CLASSES = (
    ("Token.Comment.Preproc", "macro"),
    ("Token.Comment", "comment"),
    ("Token.Keyword.Type", "type"),
    ("Token.Keyword", "word"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Decorator", "macro"),
    ("Token.Name.Builtin", "type"),
)
