"""Removes files that no recent attempt names. What an attempt of the last `keep_days` days names is never removed.

Records, with their verdicts and numbers, stay. An old attempt whose files are gone cannot be shown or replayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, select

from amdkernel_mcp.database.tables import artefacts

if TYPE_CHECKING:
    from amdkernel_mcp.history.artefacts import Artefacts

DAY_S = 86400.0
_GRACE_S = DAY_S  # a file without a record may belong to one that is being made


@dataclass(frozen=True)
class Pruned:
    """What was removed, and what is left."""

    files: int = 0
    bytes: int = 0
    left_files: int = 0
    left_bytes: int = 0


def prune(connection: Connection, files: Artefacts, *, keep_days: int, keep_bytes: int) -> Pruned:
    """Remove old files, those first that were named longest ago, until `keep_bytes` are left; and files of no record.

    Call it in a transaction that keeps other records from being added.
    """
    border = (datetime.now(UTC) - timedelta(days=keep_days)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    last_named = {row.sha256: row.last_named for row in connection.execute(select(artefacts))}
    found = list(files.entries())
    total = sum(size for _, size in found)
    old = sorted((last_named.get(path.name, ""), path, size) for path, size in found)
    removed: list[tuple[Path, int]] = []
    left = total
    for last, path, size in old:
        needed = last >= border or (last and left <= keep_bytes)
        if not needed and files.remove(path, older_than_s=_GRACE_S):
            removed.append((path, size))
            left -= size
    names = [path.name for path, _ in removed]
    for start in range(0, len(names), 500):
        connection.execute(delete(artefacts).where(artefacts.c.sha256.in_(names[start : start + 500])))
    return Pruned(len(removed), total - left, len(found) - len(removed), left)
