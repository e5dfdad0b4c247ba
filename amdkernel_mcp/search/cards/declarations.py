"""The file of declarations: what HIP's headers and clang's table of builtins declare, by name."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.checksum import checksum_holds, damage_reported, open_read_only, write_checksum

FORMAT = "4"
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE entries (
    folded TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, header TEXT NOT NULL, line INTEGER NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX entries_by_name ON entries (folded);
"""


@dataclass(frozen=True)
class Entry:
    """A declaration; `text` is Markdown: the declaration as code, then what its comment says."""

    name: str
    kind: str
    header: str
    line: int
    text: str


@dataclass(frozen=True)
class Declarations:
    """The open file of declarations. One thread at a time may use it."""

    path: Path
    connection: sqlite3.Connection
    hip_version: str
    compiler: str
    origin: str

    def named(self, word: str) -> list[Entry]:
        """The declarations of a name; those with the exact spelling where there are any."""
        with damage_reported(self.path):
            rows = self.connection.execute(
                "SELECT name, kind, header, line, text FROM entries WHERE folded = ? ORDER BY rowid", (word.lower(),)
            ).fetchall()
        found = [Entry(*row) for row in rows]
        return [one for one in found if one.name == word] or found

    def names(self) -> Iterator[str]:
        """Every name, once."""
        with damage_reported(self.path):
            rows = self.connection.execute("SELECT DISTINCT name FROM entries").fetchall()
        return (row[0] for row in rows)

    def close(self) -> None:
        """Closes the file."""
        self.connection.close()


def open_declarations(path: Path) -> Declarations | None:
    """The file at `path`; None where there is none, or where it is damaged or of another release."""
    try:
        if not path.is_file() or not checksum_holds(path):
            return None
        with closing(open_read_only(path)) as connection:
            meta = dict(connection.execute("SELECT key, value FROM meta"))
    except (OSError, sqlite3.Error):
        return None
    if meta.get("format") != FORMAT:
        return None
    return Declarations(path, open_read_only(path), meta["hip_version"], meta["compiler"], meta["origin"])


def write_declarations(entries: Iterable[Entry], path: Path, *, hip_version: str, compiler: str, origin: str) -> int:
    """Writes the file; returns the number of entries. An existing file stays in place until the new one is complete.

    Raises DocumentationError where there are no entries or the file cannot be written.
    """
    rows = [(one.name.lower(), one.name, one.kind, one.header, one.line, one.text) for one in entries]
    if not rows:
        raise DocumentationError(f"{origin}: no declarations were found")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
        with closing(sqlite3.connect(partial)) as connection:
            connection.executescript(_SCHEMA)
            meta = {"format": FORMAT, "hip_version": hip_version, "compiler": compiler, "origin": origin}
            connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
            connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", rows)
            connection.commit()
        write_checksum(partial)
        os.replace(partial, path)
    except (OSError, sqlite3.OperationalError) as error:
        raise DocumentationError(f"{path} cannot be written: {error}") from None
    finally:
        partial.unlink(missing_ok=True)
    return len(rows)
