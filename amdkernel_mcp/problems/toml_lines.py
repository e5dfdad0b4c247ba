"""The lines of tables and keys in a TOML file; tomllib gives values only."""

from __future__ import annotations

import re

Path = tuple[str | int, ...]

_HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\-\"' ]+?)\s*\]\]?\s*(?:#.*)?$")
_LOOKED_AT = 300  # characters of a line: patterns over blanks take the square of their number
_KEY = re.compile(r"\s*([\w.\-\"']+)\s*=(.*)")


class TomlLines:
    """Line numbers, from 1, of the tables and keys of a TOML text."""

    def __init__(self, text: str) -> None:
        self._lines: dict[Path, int] = {}
        self._counts: dict[Path, int] = {}
        self._table: Path = ()
        self._array: Path | None = None  # an inline array of tables that is still open
        in_string = False
        for number, line in enumerate(text.splitlines(), start=1):
            if not in_string:
                self._read(line[:_LOOKED_AT], number)
            in_string ^= (line.count('"""') + line.count("'''")) % 2 == 1

    def line_of(self, *path: str | int) -> int:
        """The line of a key such as ("cases", 1, "rows"), or of the nearest thing around it; else 1."""
        while path:
            if path in self._lines:
                return self._lines[path]
            path = path[:-1]
        return 1

    def _read(self, line: str, number: int) -> None:
        if header := _HEADER.match(line):
            self._array = None
            self._table = _keys(header[2])
            if header[1] == "[[":
                self._table += (self._count(self._table),)
            self._lines.setdefault(self._table, number)
        elif self._array is not None and line.strip().startswith("{"):
            self._lines[(*self._array, self._count(self._array))] = number
        elif key := _KEY.match(line):
            path = self._table + _keys(key[1])
            self._lines.setdefault(path, number)
            self._array = path if key[2].strip().startswith("[") else None

    def _count(self, path: Path) -> int:
        self._counts[path] = self._counts.get(path, -1) + 1
        return self._counts[path]


def _keys(dotted: str) -> Path:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
