"""Lines of a file descriptor, none longer than a limit. A longer one is dropped while it arrives, except for its id."""

import json
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

_CHUNK = 1 << 16
_KEPT = 4096  # of each end of a line that is too long: clients write the id first or last

_ID = rb'"id"\s*:\s*(?P<id>-?\d{1,18}|"[^"\\]{0,200}")'
_OTHER = rb'"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"'
_FIRST = re.compile(rb"\s*\{\s*(?:" + _OTHER + rb"\s*,\s*)*" + _ID)
# Only one brace follows, the last of the message, so this id is the message's own and not one inside its params.
_LAST = re.compile(_ID + rb"(?:\s*,\s*" + _OTHER + rb")*\s*\}\s*\Z")


class LongLine(NamedTuple):  # not a dataclass: their import takes longer than the rest of the relay's start
    """A line that was longer than the limit; `identity` is its JSON-RPC id, None where it cannot be found."""

    identity: int | str | None


class Splitter:
    """Cuts what arrives into lines; holds at most `limit` bytes and one chunk of a line that is not complete."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._held: list[bytes] = []
        self._size = 0
        self._ends: tuple[bytes, bytes] | None = None  # first and last bytes of a line that is being dropped

    def feed(self, chunk: bytes) -> Iterator[bytes | LongLine]:
        """The lines that `chunk` completes, each with its newline."""
        *complete, rest = chunk.split(b"\n")
        for piece in complete:
            self._add(piece + b"\n")
            yield from self.end()
        if rest:
            self._add(rest)

    def end(self) -> Iterator[bytes | LongLine]:
        """What is held, as a line; nothing if nothing is held."""
        if self._size:
            yield b"".join(self._held) if self._ends is None else LongLine(find_identity(*self._ends))
        self._held, self._size, self._ends = [], 0, None

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._ends is not None:
            first, last = self._ends
            self._ends = first, (last + piece)[-_KEPT:]
            return
        self._held.append(piece)
        if self._limit is not None and self._size > self._limit:
            whole = b"".join(self._held)
            self._ends = whole[:_KEPT], whole[-_KEPT:]
            self._held.clear()


def read_bounded_lines(fd: int, limit: int | None) -> Iterator[bytes | LongLine]:
    """The lines of `fd`, and at its end what is left. Unbuffered: no lock that a dying process could trip over."""
    splitter = Splitter(limit)
    while chunk := os.read(fd, _CHUNK):
        yield from splitter.feed(chunk)
    yield from splitter.end()


def read_lines(fd: int) -> Iterator[bytes]:
    """The lines of `fd`, however long: for what a process of our own writes."""
    return (line for line in read_bounded_lines(fd, None) if isinstance(line, bytes))


def find_identity(first: bytes, last: bytes) -> int | str | None:
    """The JSON-RPC id of a message that cannot be parsed, by its first and last bytes."""
    found = _FIRST.match(first) or _LAST.search(last)
    try:
        identity = json.loads(found["id"]) if found else None
    except ValueError:  # not UTF-8, or a control character
        return None
    return identity if isinstance(identity, int | str) else None
