"""Reads an untrusted SQLite file. Its views are programs, so their work is bounded.

A view can recurse for ever, join a table with itself until memory ends, or make up text. What an honest recording needs
grows with its size, and so do the limits. Source: sqlite.org, "Defense Against The Dark Arts".
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from amdkernel_mcp.errors import ProfileFileError
from amdkernel_mcp.profiling.readers.recording import visible

# Steps of SQLite's virtual machine. A dispatch takes a few hundred, and its rows have about 100 bytes.
STEPS, STEPS_PER_BYTE = 100_000_000, 50
# A single step may build a long text.
CPU_S, CPU_S_PER_BYTE = 20.0, 4e-7
# A view may sort what it makes up before it returns a row.
MEMORY_BYTES, MEMORY_PER_BYTE = 1 << 30, 32
# Rows of an honest view share the bytes of the file.
BYTES_PER_ROW = 8
# Demangled names of templates are long.
LONGEST_TEXT = 1 << 18

_STEPS_PER_CALL = 10_000
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 2 * LONGEST_TEXT,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
}
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION}


class UntrustedDatabase:
    """An open file. Its methods raise sqlite3.Error for damage and ProfileFileError for what is out of proportion."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        size = path.stat().st_size
        self._path = path
        self._steps = STEPS + STEPS_PER_BYTE * size
        self._cpu_end = time.thread_time() + CPU_S + CPU_S_PER_BYTE * size
        self._memory_end = _memory() + MEMORY_BYTES + MEMORY_PER_BYTE * size
        self._rows = 1000 + size // BYTES_PER_ROW
        self._characters = LONGEST_TEXT + size
        self._texts: dict[str, str] = {}
        self._broken: str | None = None  # the limit that a view has met
        self._connection = connection
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        for pragma in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON", "temp_store = MEMORY"):
            connection.execute(f"PRAGMA {pragma}")
        connection.set_authorizer(self._authorize)
        connection.set_progress_handler(self._step, _STEPS_PER_CALL)

    def tables(self) -> frozenset[str]:
        """Names of its tables and views. Raises ProfileFileError where a table is a program's (a virtual one)."""
        found = set()
        for kind, name, text in self.rows("SELECT type, name, sql FROM sqlite_master"):
            if kind in ("table", "view"):
                found.add(str(name))
            if str(text).upper().startswith("CREATE VIRTUAL"):
                raise self._refuse(f"it has a virtual table, {visible(str(name))[:80]}")
        return frozenset(found)

    def rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        """The rows that `query` finds. Equal texts are one object; all texts fit into the file."""
        try:
            for row in self._connection.execute(query):
                self._rows -= 1
                if self._rows < 0:
                    raise self._refuse("its views have more rows than it has room for")
                yield tuple(self._text(cell) if isinstance(cell, str) else cell for cell in row)
        except sqlite3.Error as error:
            if self._broken:
                raise self._refuse(self._broken) from error
            raise

    def _text(self, text: str) -> str:
        if text not in self._texts:
            self._characters -= len(text)
            if self._characters < 0:
                raise self._refuse("its views make more text than it holds")
            self._texts[text] = text
        return self._texts[text]

    def _authorize(self, action: int, *_: str | None) -> int:
        if action == sqlite3.SQLITE_RECURSIVE:
            self._broken = "one of its views is recursive"
        return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY

    def _step(self) -> bool:
        self._steps -= _STEPS_PER_CALL
        if self._steps < 0 or time.thread_time() > self._cpu_end:
            self._broken = "its views take more work than a file of this size needs"
        elif _memory() > self._memory_end:
            self._broken = "its views take more memory than a file of this size needs"
        return self._broken is not None

    def _refuse(self, why: str) -> ProfileFileError:
        return ProfileFileError(
            f"the database was not written by rocprofv3: {why}", file=str(self._path),
            hint="use the .db file as the profiler wrote it",
        )  # fmt: skip


def _memory() -> int:
    """Resident bytes of this process; 0 where the system does not say, so that only the other limits hold."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@contextmanager
def open_untrusted(path: Path) -> Iterator[UntrustedDatabase]:
    """The database in `path`, opened for reading only. Raises sqlite3.Error."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        yield UntrustedDatabase(connection, path)
