"""The index file: its tables, and how it is opened. One SQLite file holds everything that search and read need."""

import json
import sqlite3
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.query.vocabulary import Vocabulary, load_vocabulary

FORMAT = "7"
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
    vocabulary: Vocabulary
    memory: dict[str, Any] = field(default_factory=dict)

    def close(self) -> None:
        """Gives the file free."""
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
    """The index at `path`. Raises DocumentationError where there is none, or one that another release made."""
    if not path.is_file():
        raise DocumentationError(f"there is no documentation index at {path}", hint=NO_INDEX_HINT)
    # immutable: the file is replaced as a whole and never written to, so no lock and no -wal file is needed.
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        found = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    except sqlite3.DatabaseError as error:
        raise DocumentationError(f"{path} is no documentation index: {error}", hint=NO_INDEX_HINT) from None
    if found is None or found[0] != FORMAT:
        connection.close()
        raise DocumentationError(f"the documentation index {path} was made by another release", hint=NO_INDEX_HINT)
    return Index(path, connection, load_vocabulary())


def pack_text(text: str) -> bytes:
    """`text` as it is stored."""
    return zlib.compress(text.encode("utf-8"), 6)


def unpack_text(blob: bytes) -> str:
    """What `pack_text` packed."""
    return zlib.decompress(blob).decode("utf-8")


def breadcrumb(title: str, below: str) -> tuple[str, ...]:
    """The parts of a section's breadcrumb; `below` is the JSON list of the headings below the title."""
    return (title, *json.loads(below))
