"""The reset of a GPU that does not come back: by the worker on its host, while nothing of ours uses a GPU there.

A reset may take other GPUs of the machine along (`../workers/reset.py`), so each of them is leased for its time. What
is not free at once refuses the reset: no work is ended by it, and no job waits for a repair.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from amdkernel_mcp.errors import DatabaseError, TargetError
from amdkernel_mcp.execution.gpus import id_of

if TYPE_CHECKING:
    from amdkernel_mcp.execution.brought_hosts import Workers
    from amdkernel_mcp.hardware.target import Target
    from amdkernel_mcp.leases.gpu_leases import Asked, GpuLeases

RENEW_S = 5.0
OWNER = "reset"


@dataclass(frozen=True)
class Tried:
    """A reset. `done`: the GPU was reset. `text`: what came of it, for a sentence."""

    done: bool
    text: str


class ResetByWorker:
    """Resets one GPU that a worker brought."""

    def __init__(self, leases: GpuLeases, workers: Workers, target: Target) -> None:
        self._leases = leases
        self._workers = workers
        self._target = target

    def __call__(self, asked: Asked, why: str) -> Tried | None:
        """Under the lease `asked` of this GPU. None: its worker may not. Raises DatabaseError, SandboxError."""
        target = self._target
        host = self._workers.find(target.host or "")
        if host is None or target.index is None or not host.may_reset:
            return None
        others = {f"{host.name}:{gpu.index}": id_of(gpu, host.name) for gpu in host.gpus if gpu.index != target.index}
        try:
            with self._alone(asked, others):
                done = self._workers.reset(target.name, host.name, target.index, why)
        except TargetError as error:
            return self._noted("refused", f"it was not reset: {error.message}")
        if done.exit_code == 0:
            return self._noted("done", "it was reset")
        how = "did not end in time" if done.timed_out else f"ended with exit code {done.exit_code}"
        return self._noted("failed", f"its reset {how}: {done.stderr or 'nothing was printed'}")

    def _noted(self, outcome: Literal["done", "failed", "refused"], text: str) -> Tried:
        self._workers.note(f"reset {self._target.name}", self._target.name, outcome, text)
        return Tried(outcome == "done", text)

    @contextmanager
    def _alone(self, asked: Asked, others: Mapping[str, str]) -> Iterator[None]:
        """A block in which nothing else begins on this GPU and the others. Raises TargetError where something runs."""
        held: list[Asked] = []
        try:
            mine, _ = self._leases.ask(asked.gpu, "exclusive", OWNER)  # waits behind `asked`, and keeps later ones out
            held.append(mine)
            if not self._leases.is_alone(asked):
                raise TargetError("another job uses it")
            for name, gpu in others.items():
                one, granted = self._leases.ask(gpu, "exclusive", OWNER)
                held.append(one)
                if not granted:
                    raise TargetError(f"{name} of the same machine is in use, and may be reset along with it")
            with self._renewed(held):
                yield
        finally:
            for each in held:
                with suppress(DatabaseError):
                    self._leases.end(each)
                self._leases.withdraw(each)

    @contextmanager
    def _renewed(self, held: Sequence[Asked]) -> Iterator[None]:
        over = threading.Event()

        def renew() -> None:
            while not over.wait(RENEW_S):
                for each in held:
                    with suppress(DatabaseError):
                        self._leases.renew(each)

        thread = threading.Thread(target=renew, name="reset", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
