"""What is too much in the text of a problem.toml, found before tomllib builds anything of it.

tomllib keeps every prefix of a dotted key: 200 KB of deep keys took 18 GB. One pass over the tokens is enough to refuse
such a file.
"""

from __future__ import annotations

import re

MAX_BYTES = 64 << 10
MAX_DEPTH = 8
"""Parts of a dotted key, and brackets inside brackets."""
MAX_DIGITS = 64

_TOKEN = re.compile(
    r"""(?P<text>"{3}(?:\\.|[^\\])*?"{3}|'{3}.*?'{3})"""
    r"""|(?P<endless>"{3}|'{3})"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*"|'[^'\n]*')"""
    r"|(?P<comment>\#[^\n]*)"
    r"|(?P<word>[\w+-]+)"
    r"|(?P<blank>[ \t]+)"
    r"|(?P<sign>.)",
    re.DOTALL | re.ASCII,
)


class TooMuch(Exception):
    """The limit that was passed, and the line (from 1)."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def check_text(text: str) -> None:
    """Raises TooMuch for a key, a nesting or a number beyond the limits."""
    line, parts, depth = 1, 0, 0
    for token in _TOKEN.finditer(text):
        kind, word = token.lastgroup, token[0]
        if kind == "endless":
            return  # tomllib stops here as well, and says so
        if kind == "word" and re.match(r"[+-]?\d", word) and len(word) > MAX_DIGITS:
            raise TooMuch(f"a number has {len(word)} digits, more than {MAX_DIGITS}", line)
        if kind in ("word", "string", "text"):
            parts += 1
        elif kind == "sign" and word != ".":
            parts = 0
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(word, 0)
        if parts > MAX_DEPTH:
            raise TooMuch(f"a key has more than {MAX_DEPTH} levels", line)
        if depth > MAX_DEPTH:
            raise TooMuch(f"tables and arrays are nested more than {MAX_DEPTH} levels deep", line)
        line += word.count("\n")
