"""A block of code that holds the lease of a GPU. It fails closed: without the lease, nothing of the block counts."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from amdkernel_mcp import tracing
from amdkernel_mcp.cancellation import Cancellation, CancelledWorkError
from amdkernel_mcp.counted import counted
from amdkernel_mcp.database.leases import LEASE_S
from amdkernel_mcp.errors import DatabaseError, TargetError
from amdkernel_mcp.leases.gpu_leases import Ahead, Asked, GpuLeases, Kind
from amdkernel_mcp.quoting import name_of
from amdkernel_mcp.work import LOCAL, Work, doing

RENEW_S = 5.0
MARGIN_S = 10.0
"""Before the deadline, what still runs is ended: it has to be gone when the next one begins."""
ASK_EVERY_S = 0.2
SAY_EVERY_S = 2.0


class LeaseLostError(TargetError):
    """The lease of a GPU was lost while it was used."""

    def __init__(self, gpu: str) -> None:
        super().__init__(
            f"the lease of GPU {gpu} was lost while it was used, so nothing that was measured counts",
            hint="run it again; the clock or the database of the server may have been stopped for a while",
        )


@contextmanager
def lease(leases: GpuLeases, gpu: str, kind: Kind, work: Work, *, name: str = "") -> Iterator[tuple[Asked, Work]]:
    """Wait for the GPU, and hold it for `work` while the block runs, which is the part of it that the block gets.
    `name`: of the GPU as a target, for who waits.

    Raises LeaseLostError at the end of a block that did not hold it all the time, DatabaseError when no lease can be
    taken, CancelledWorkError.
    """
    with tracing.span("wait for lease", gpu=gpu, kind=kind):
        asked = _wait_for(leases, gpu, kind, work, name)
    lost, outer = Cancellation(), work.cancellation
    inside = replace(work, cancellation=lost, held=work.held | ({gpu} if kind == "exclusive" else set()))
    ended = threading.Event()
    keeper = threading.Thread(target=_keep, args=(leases, asked, ended, lost), name="lease", daemon=True)
    keeper.start()
    begun_s = time.monotonic()
    try:
        with outer.ending_with(lost.cancel), doing(inside):
            yield asked, inside
    except CancelledWorkError:
        if outer.asked:
            raise
        raise LeaseLostError(gpu) from None
    finally:
        ended.set()
        keeper.join()
        work.used.gpu_s += time.monotonic() - begun_s
        still_ours = _given_back(leases, asked)
    if not still_ours or lost.asked:
        raise LeaseLostError(gpu)


def _wait_for(leases: GpuLeases, gpu: str, kind: Kind, work: Work, name: str) -> Asked:
    asked, granted = leases.ask(gpu, kind, work.owner)
    if granted:
        return asked
    said_s = 0.0
    work.used.waits += 1
    try:
        while not granted:
            work.cancellation.check()
            if time.monotonic() - said_s > SAY_EVERY_S:
                work.used.waits_for = _in_words(leases.ahead(asked), name)
                work.say(work.used.waits_for)
                said_s = time.monotonic()
            woken = leases.wait(asked, ASK_EVERY_S)
            granted = leases.take(asked, woken=woken)
    except BaseException:
        leases.withdraw(asked)
        raise
    finally:
        work.used.waits -= 1
    return asked


def _in_words(ahead: Ahead, name: str) -> str:
    text = f"waits for the GPU{name and f' {name}'}, {counted(ahead.count, 'lease')} before it"
    if ahead.holder is None:
        return text
    whose = "" if ahead.holder == LOCAL else f" of {name_of(ahead.holder)}"
    return f"{text}; one{whose} has it for {ahead.seconds:.0f} s"


def _keep(leases: GpuLeases, asked: Asked, ended: threading.Event, lost: Cancellation) -> None:
    """Renew until `ended`; where that fails for too long, end the work."""
    renewed_s = time.monotonic()
    while not ended.wait(RENEW_S):
        now_s = time.monotonic()
        try:
            if not leases.renew(asked):
                lost.cancel()
                return
            renewed_s = now_s
        except DatabaseError:
            if now_s - renewed_s > LEASE_S - MARGIN_S:
                lost.cancel()
                return


def _given_back(leases: GpuLeases, asked: Asked) -> bool:
    try:
        return leases.end(asked)
    except DatabaseError:
        return False  # it cannot be known whether another process had the GPU
