"""The index file: its tables, and how it is opened. One SQLite file holds everything that search and read need."""

import json
import sqlite3
import zlib
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.checksum import DAMAGED_HINT, checksum_holds, open_read_only

FORMAT = "11"
NO_INDEX_HINT = "run `amdkernel setup`, or `amdkernel docs build --from DIR` for a folder of your own"

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sources (
    name TEXT PRIMARY KEY, version TEXT, licence TEXT, api INTEGER NOT NULL, anchored INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE pages (
    id INTEGER PRIMARY KEY, source TEXT NOT NULL, path TEXT NOT NULL, title TEXT NOT NULL, url TEXT,
    prior REAL NOT NULL,
    UNIQUE (source, path)
);
CREATE TABLE sections (
    id INTEGER PRIMARY KEY, page INTEGER NOT NULL, anchor TEXT NOT NULL, below TEXT NOT NULL, chars INTEGER NOT NULL,
    line INTEGER NOT NULL, twin INTEGER NOT NULL, gpus TEXT NOT NULL, text BLOB NOT NULL
);
CREATE INDEX sections_by_page ON sections (page);
CREATE TABLE section_vectors (section INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE word_vectors (word TEXT PRIMARY KEY, weight REAL NOT NULL, vector BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY, section INTEGER NOT NULL, start INTEGER NOT NULL, finish INTEGER NOT NULL
);
CREATE TABLE words (folded TEXT PRIMARY KEY, word TEXT NOT NULL, documents INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE headings (folded TEXT NOT NULL, section INTEGER NOT NULL);
CREATE TABLE aliases (cuda TEXT PRIMARY KEY, cuda_name TEXT NOT NULL, hip TEXT NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Index:
    """An open index. Close it, or use it in a `with` statement; one thread at a time may use it."""

    path: Path
    connection: sqlite3.Connection
    memory: dict[str, Any] = field(default_factory=dict)

    def close(self) -> None:
        """Closes the file."""
        self.connection.close()

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def versions(self) -> dict[str, str | None]:
        """The version of every source, by its name."""
        return dict(self.connection.execute("SELECT name, version FROM sources ORDER BY name"))

    @cached_property
    def passages(self) -> int:
        """The number of passages."""
        return int(self.connection.execute("SELECT count(*) FROM chunks").fetchone()[0])


def open_index(path: Path) -> Index:
    """The index at `path`. Raises DocumentationError where it is missing, damaged or of another release."""
    if not path.is_file():
        raise DocumentationError(f"there is no documentation index at {path}", hint=NO_INDEX_HINT)
    try:
        with closing(open_read_only(path)) as connection:
            found = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
        intact = checksum_holds(path)
    except (OSError, sqlite3.Error):
        found, intact = None, False
    if intact and found and found[0] == FORMAT:
        return Index(path, open_read_only(path))
    # A file of an older release has no checksum, but a format that can be read.
    if found and found[0] != FORMAT and isinstance(found[0], str) and found[0].isdigit():
        raise DocumentationError(
            f"the documentation index {path} was made by another release", hint="`amdkernel setup` rebuilds it"
        )
    raise DocumentationError(f"the documentation index {path} is damaged", hint=DAMAGED_HINT)


def pack_text(text: str) -> bytes:
    """`text` as it is stored."""
    return zlib.compress(text.encode("utf-8"), 6)


def unpack_text(blob: bytes) -> str:
    """What `pack_text` packed."""
    return zlib.decompress(blob).decode("utf-8")


def breadcrumb(title: str, below: str) -> tuple[str, ...]:
    """The parts of a section's breadcrumb; `below` is the JSON list of the headings below the title."""
    return (title, *json.loads(below))
