"""Records that this server signed: from its own database, or as they were exported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.errors import HistoryError
from amdkernel_mcp.history.attempt import Attempt, read_record
from amdkernel_mcp.history.signing import is_signed

if TYPE_CHECKING:
    from amdkernel_mcp.history.history import History

MOST_BYTES = 4 << 20
"""Of an exported record."""


def stored_record(history: History, name: str, *, by: str | None = None) -> Attempt:
    """The attempt `name`, of `by` alone if given. Raises HistoryError, also where the database was changed."""
    stored = history.find(name, by=by)
    return exported_record(history, stored.record, stored.signature)


def exported_record(history: History, record: bytes, signature: bytes) -> Attempt:
    """The attempt in the bytes of an export. Raises HistoryError unless this server signed exactly these bytes."""
    if len(record) > MOST_BYTES:
        raise HistoryError(f"a record has {MOST_BYTES >> 20} MiB at most")
    if not is_signed(record, signature, history.public_pem):
        raise HistoryError("this server did not sign this record")
    return read_record(record)


def record_in(history: History, folder: Path) -> Attempt:
    """The attempt of the folder that `amdkernel export` wrote. Raises HistoryError."""
    try:
        with (folder / "attempt.json").open("rb") as file:
            record = file.read(MOST_BYTES + 1)
        with (folder / "attempt.sig").open("rb") as file:
            signature = file.read(1024)
    except OSError as error:
        raise HistoryError(f"the export cannot be read: {error.strerror}", file=str(folder)) from None
    return exported_record(history, record, signature)
