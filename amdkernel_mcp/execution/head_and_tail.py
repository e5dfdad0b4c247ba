"""Bounded text: what a job prints may be endless, and only its beginning and its end are kept."""

from collections.abc import Callable


class HeadAndTail:
    """Bounded text: keeps the beginning and the end of what is added, and hands each whole line on as it comes.

    With an `end_mark` the text ends before the mark.
    """

    def __init__(
        self,
        on_line: Callable[[str], None] | None = None,
        *,
        end_mark: bytes = b"",
        keep_bytes: int = 128 << 10,
    ) -> None:
        self.total = 0
        self.ended = False
        self._mark, self._held = end_mark, b""
        self._keep = keep_bytes
        self._head, self._tail, self._line = bytearray(), bytearray(), bytearray()
        self._on_line = on_line

    def add(self, data: bytes) -> None:
        """Take a piece, of any length."""
        if self._mark:
            data = self._before_mark(data)
        self._keep_bounded(data)

    def finish(self) -> None:
        """Nothing more comes: what looked like the beginning of the mark is text."""
        held, self._held = self._held, b""
        self._keep_bounded(held)

    def _before_mark(self, data: bytes) -> bytes:
        if self.ended:
            return b""
        data = self._held + data
        before, found, _ = data.partition(self._mark)
        self.ended = bool(found)
        held = 0 if found else _overlap(data, self._mark)
        self._held = data[len(data) - held :]
        return before[: len(before) - held]

    def _keep_bounded(self, data: bytes) -> None:
        self.total += len(data)
        room = self._keep - len(self._head)
        self._head += data[:room]
        self._tail += data[room:] if room < len(data) else b""
        if len(self._tail) > 2 * self._keep:
            del self._tail[: -self._keep]
        if self._on_line:
            self._lines(data)

    def text(self) -> str:
        """All of it, or head and tail with a remark between them."""
        tail = self._tail[-self._keep :]
        left_out = self.total - len(self._head) - len(tail)
        gap = f"\n[... {left_out} bytes left out ...]\n".encode() if left_out else b""
        return (bytes(self._head) + gap + bytes(tail)).decode(errors="replace")

    @property
    def cut(self) -> bool:
        """Whether something was left out."""
        return self.total > 2 * self._keep

    def _lines(self, data: bytes) -> None:
        assert self._on_line is not None
        *whole, rest = (bytes(self._line) + data).split(b"\n")
        self._line[:] = rest[-4096:]
        for line in whole:
            self._on_line(line[:4096].decode(errors="replace"))


def _overlap(data: bytes, mark: bytes) -> int:
    """How many bytes at the end of `data` may be the beginning of `mark`."""
    return next((n for n in range(min(len(mark) - 1, len(data)), 0, -1) if data.endswith(mark[:n])), 0)
