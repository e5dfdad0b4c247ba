"""A job of a server, followed until it ends: its place in the queue, a lost connection, Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from amdkernel_mcp.errors import AmdkernelError, InfrastructureError
from amdkernel_mcp.progress import Progress
from amdkernel_mcp.remote.calls import Server, is_lost, raise_error

QUEUED_S, RUNNING_S = 10.0, 30.0
"""Longest wait of one request: for a place in the queue that is up to date, and for an answer."""

SILENT_S = 60.0
"""After which a request that waits is given up: the server sends a sign of life every 15 s."""

BRIDGED_S = 120.0
"""For which a server is asked again that cannot be reached."""

_MOST_PAUSE_S = 10.0
_CANCEL_S = 15.0
_UNFINISHED = ("queued", "running")


def finished_job(
    server: Server,
    job: Mapping[str, Any],
    on_progress: Progress,
    *,
    names: Mapping[str, str] | None = None,
) -> Mapping[str, Any]:
    """What get_job says of the job once it is done. `job`: its `job_id` and `status`.

    Raises what the job raised, InfrastructureError where it was cancelled or the server is away for too long.
    """
    job_id = str(job["job_id"])
    lost_at: float | None = None
    on_progress = _changes(on_progress)
    while job.get("status") in _UNFINISHED:
        place = _place(job)
        on_progress(place)

        def report(said: str, place: str = place) -> None:
            on_progress(place if said == "queued" else said)

        wait_s = QUEUED_S if job["status"] == "queued" else RUNNING_S
        call = {"job_id": job_id, "wait_s": wait_s}
        try:
            job, lost_at = server.call("get_job", call, on_progress=report, silent_s=SILENT_S), None
        except AmdkernelError as error:
            if not is_lost(error):
                raise
            lost_at = time.monotonic() if lost_at is None else lost_at
            _pause(server, job_id, error, time.monotonic() - lost_at, on_progress)
    if job.get("status") == "failed":
        raise_error(str(job.get("error") or "the job failed"), job.get("error_code"), names or {})
    if job.get("status") == "cancelled":
        raise InfrastructureError(f"{job_id} was cancelled on the server")
    return job


def cancelled_job(server: Server, job_id: str) -> str:
    """End the job; what to say of it. Never raises."""
    try:
        state = server.call("get_job", {"job_id": job_id, "wait_s": 5, "cancel": True}, silent_s=_CANCEL_S)
    except AmdkernelError as error:
        return f"{job_id} may still run: {error.message}; to end it: {command(server.url, job_id)} --cancel"
    if state.get("status") in _UNFINISHED:
        return f"{job_id} is being cancelled on the server"
    return f"{job_id} is {state.get('status')} on the server"


def command(url: str, job_id: str) -> str:
    """What a user types to get the job's answer."""
    return f"amdkernel job {job_id} --url {url}"


def _changes(on_progress: Progress) -> Progress:
    """Reports only what is new: a server says every 2 s what it does."""
    last: list[str] = []

    def report(said: str) -> None:
        if last != [said]:
            last[:] = [said]
            on_progress(said)

    return report


def _place(job: Mapping[str, Any]) -> str:
    if job["status"] == "running":
        return str(job.get("progress") or "running")
    place, wait_s = job.get("queue_place"), job.get("expected_wait_s")
    text = f"queued, place {place}" if place else "queued"
    text = f"{text}, about {wait_s:.0f} s" if isinstance(wait_s, int | float) else text
    return f"{text}: {job['progress']}" if job.get("progress") else text


def _pause(server: Server, job_id: str, error: AmdkernelError, lost_s: float, on_progress: Progress) -> None:
    """Wait before a server is asked again that has been away for `lost_s`."""
    if lost_s >= BRIDGED_S:
        raise InfrastructureError(
            f"{error.message}; {job_id} continues there", hint=f"for its answer: {command(server.url, job_id)}"
        )
    on_progress(f"no connection to the server, asking again for {job_id}")
    time.sleep(min(1.0 + lost_s / 2, _MOST_PAUSE_S))
