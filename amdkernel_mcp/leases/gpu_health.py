"""What is known of each GPU in the database: its last states, and why nothing may run on it.

A GPU is `suspect` when a job on it did not end as it should and no look has found it at its baseline since; then the
next job waits for that. It is `quarantined` when it did not come back, until an admin releases it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, Row, select, update
from sqlalchemy.dialects import postgresql, sqlite

from amdkernel_mcp.database.open_database import now_in, reading, writing
from amdkernel_mcp.database.tables import gpu_health
from amdkernel_mcp.errors import InputError, TargetError
from amdkernel_mcp.execution.gpu_idle import GpuState
from amdkernel_mcp.results.kernels import Clocks

if TYPE_CHECKING:
    from collections.abc import Mapping


class QuarantinedError(TargetError):
    """Nothing runs on this GPU until it is released."""

    def __init__(self, gpu: str, target: str, reason: str) -> None:
        super().__init__(
            f"{target} is quarantined: {reason}",
            hint="use another target of `amdkernel targets`; who runs the server resets the GPU or restarts its "
            f"machine, then `amdkernel admin gpus release {gpu}`",
        )


@dataclass(frozen=True)
class KnownGpu:
    """What the database says of a GPU. Times are seconds since 1970 by its clock."""

    gpu: str
    target: str
    looked_s: float | None = None
    state: GpuState | None = None
    baseline: GpuState | None = None
    suspect: str | None = None
    quarantined_s: float | None = None
    reason: str | None = None


class GpuHealth:
    """The table. Thread-safe. Methods raise DatabaseError."""

    def __init__(self, engine: Callable[[], Engine]) -> None:
        """`engine`: opens the database when it is first used."""
        self._engine = engine

    def find(self, gpu: str) -> KnownGpu | None:
        """What is known of one."""
        with reading(self._engine()) as connection:
            row = connection.execute(select(gpu_health).where(gpu_health.c.gpu == gpu)).first()
        return _known(row) if row else None

    def list(self) -> Sequence[KnownGpu]:
        """All of them, by target."""
        with reading(self._engine()) as connection:
            rows = connection.execute(select(gpu_health).order_by(gpu_health.c.target, gpu_health.c.gpu)).all()
        return [_known(row) for row in rows]

    def quarantined(self) -> Mapping[str, str]:
        """The reasons, by GPU."""
        wanted = select(gpu_health.c.gpu, gpu_health.c.reason).where(gpu_health.c.quarantined.is_not(None))
        with reading(self._engine()) as connection:
            return {row.gpu: row.reason or "" for row in connection.execute(wanted)}

    def refuse_quarantined(self, gpu: str, target: str) -> None:
        """Raises QuarantinedError where nothing may run on it."""
        known = self.find(gpu)
        if known is not None and known.quarantined_s is not None:
            raise QuarantinedError(gpu, target, known.reason or "")

    def saw(self, gpu: str, target: str, state: GpuState | str, **changes: Any) -> None:
        """Note a look; what could not be read changes no state. `changes`: other columns."""
        seen = {"state": _json(state)} if isinstance(state, GpuState) else {}
        with writing(self._engine()) as connection:
            _make(connection, gpu, target)
            values = {"target": target, "looked": now_in(connection), **seen, **changes}
            connection.execute(update(gpu_health).where(gpu_health.c.gpu == gpu).values(values))

    def took_baseline(self, gpu: str, target: str, state: GpuState) -> None:
        """Note how it looks while nothing of ours uses it."""
        self.saw(gpu, target, state, baseline=_json(state))

    def quarantine(self, gpu: str, target: str, state: GpuState | str, reason: str) -> None:
        """Let nothing run on it from now on."""
        self.saw(gpu, target, state, reason=reason, suspect=None, quarantined=now_in(self._engine()))

    def suspect(self, gpu: str, target: str, why: str | None) -> None:
        """Let the next job see it at its baseline first; None: it was seen there."""
        with writing(self._engine()) as connection:
            _make(connection, gpu, target)
            connection.execute(update(gpu_health).where(gpu_health.c.gpu == gpu).values(suspect=why))

    def release(self, gpu: str) -> KnownGpu:
        """End its quarantine, and forget its baseline: the repair may have changed it. Raises InputError."""
        free = {"quarantined": None, "reason": None, "suspect": None, "baseline": None}
        this = gpu_health.c.gpu == gpu
        with writing(self._engine()) as connection:
            held = connection.execute(
                update(gpu_health).where(this, gpu_health.c.quarantined.is_not(None)).values(free)
            ).rowcount
            row = connection.execute(select(gpu_health).where(this)).first()
        if row is None:
            raise InputError(f"no GPU has the id {gpu[:80]!r}", hint="`amdkernel admin gpus` lists them")
        if not held:
            raise InputError(f"{row.target} is not quarantined")
        return _known(row)


def mark_suspect(connection: Connection, gpu: str, why: str) -> None:
    """Within a transaction: as `GpuHealth.suspect`, for a GPU that was used before."""
    connection.execute(update(gpu_health).where(gpu_health.c.gpu == gpu).values(suspect=why))


def _make(connection: Connection, gpu: str, target: str) -> None:
    """The row, where it is not there yet; two processes may do this at once."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    connection.execute(insert(gpu_health).values(gpu=gpu, target=target).on_conflict_do_nothing())


def _json(state: GpuState) -> str:
    return json.dumps({
        "busy_percent": state.busy_percent, "vram_used_bytes": state.vram_used_bytes, "unique_id": state.unique_id,
        "driver": state.driver, "processes": state.processes, "clocks": state.clocks.model_dump(),
        "suspended": state.suspended, "display": state.display,
    })  # fmt: skip


def _state(text: str | None) -> GpuState | None:
    """None also for what a newer version wrote in another form."""
    with suppress(ValueError, TypeError, KeyError):
        found = json.loads(text or "null")
        if found:
            return GpuState(**found | {"processes": (*found["processes"],), "clocks": Clocks(**found["clocks"])})
    return None


def _known(row: Row[Any]) -> KnownGpu:
    return KnownGpu(
        row.gpu, row.target, row.looked, _state(row.state), _state(row.baseline), row.suspect, row.quarantined,
        row.reason,
    )  # fmt: skip
