"""Rows by content: the same kernel with the same values on the same problem and emulator has the same row.

Users share it. Only rows of emulated targets are kept, whose verdicts and counts do not depend on the machine: a time
that was measured on a GPU belongs to the hour in which it was measured.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from amdkernel_mcp import __version__
from amdkernel_mcp.cache_folder import CacheFolder, seal, unseal
from amdkernel_mcp.engine.tuning.outcome import Outcome
from amdkernel_mcp.measurement.side import Side

MAX_TOTAL_BYTES = 256 << 20
_FORMAT = 2  # raise it when the same row would say something else
_KEPT = frozenset({"correct", "incorrect", "deadlock"})
_OUTCOMES: TypeAdapter[Outcome] = TypeAdapter(Outcome)


@dataclass(frozen=True)
class RowKey:
    """What a row depends on."""

    source: str
    flags: tuple[str, ...]
    problem: str
    arch: str
    gpu: str
    image: str
    inputs: str
    """The commitment of the key that the inputs were drawn from."""
    case: str
    """Which was timed."""

    @property
    def name(self) -> str:
        """The file in the cache."""
        content = json.dumps([_FORMAT, __version__, *vars(self).values()])
        digest = hashlib.sha256(content.encode()).hexdigest()
        return f"{digest[:2]}/{digest}"


class RowCache:
    """A folder of rows, bounded in size. An entry that was cut or changed is removed and made again."""

    def __init__(self, cache_dir: Path) -> None:
        self._folder = CacheFolder(cache_dir / "rows", max_total_bytes=MAX_TOTAL_BYTES)

    def get(self, key: RowKey) -> Outcome | None:
        """The row, or None."""
        sealed = self._folder.read(key.name)
        if sealed is None:
            return None
        content = unseal(sealed)
        try:
            found = _OUTCOMES.validate_json(content) if content is not None else None
        except ValidationError:
            found = None
        if found is None:
            self._folder.remove(key.name)
            return None
        return replace(found, cached=True)

    def put(self, key: RowKey, outcome: Outcome) -> str | None:
        """Keep a row whose verdict is final. Returns why it could not be kept, None where it was or need not be."""
        if outcome.verdict not in _KEPT or (outcome.verdict == "correct" and outcome.side is None):
            return None
        kept = replace(outcome, side=outcome.side and _without_lines(outcome.side), timed=None)
        return self._folder.write(key.name, seal(_OUTCOMES.dump_json(kept)))


def _without_lines(side: Side) -> Side:
    """The counts of each instruction are for profiles: no time needs them, and they are most of the bytes."""
    runs = tuple(
        replace(run, dispatches=tuple(replace(dispatch, pcs={}) for dispatch in run.dispatches)) for run in side.runs
    )
    return replace(side, runs=runs)
