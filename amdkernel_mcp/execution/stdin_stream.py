"""What a job reads on its stdin while it runs, from a file descriptor: lines for sandbox/runner/run_program.py.

A line is a piece in base64; the line `.` marks the end, so that the end of the input differs from a client that died.
By hand: one descriptor and a poll loop that the stream of a container has anyway.
"""

import base64
import os

_PIECE_BYTES = 32 << 10
_END = b".\n"


class StdinStream:
    """Reads `descriptor` when the job is ready for more; with None there is only what is `already` known."""

    def __init__(self, descriptor: int | None, *, already: bytes = b"") -> None:
        self.seen = bytearray(already)
        self._descriptor = descriptor

    @property
    def descriptor(self) -> int | None:
        """What to wait for; None at the end of the input."""
        return self._descriptor

    def begin(self) -> bytes:
        """The lines that can be sent at once."""
        known = _line(bytes(self.seen)) if self.seen else b""
        return known if self._descriptor is not None else known + _END

    def take(self) -> bytes:
        """The line for what can be read now. Blocks where `descriptor` is not ready."""
        assert self._descriptor is not None
        try:
            piece = os.read(self._descriptor, _PIECE_BYTES)
        except OSError:  # it was closed before we came
            piece = b""
        if not piece:
            self._descriptor = None
            return _END
        self.seen += piece
        return _line(piece)


def _line(piece: bytes) -> bytes:
    return base64.b64encode(piece) + b"\n"
