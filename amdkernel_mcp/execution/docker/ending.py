"""How a container ended that did not report it itself: by its own job, or from outside.

A job may kill everything in its container, and that is a result of the job. A container that is removed or killed from
outside says nothing about the job: that is an error of the infrastructure.
"""

import time
from typing import TYPE_CHECKING

from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.docker.daemon import Daemon, docker_errors
from amdkernel_mcp.execution.docker.job_script import Ending

if TYPE_CHECKING:
    from docker.models.containers import Container

_KILLED = 137
# Docker reports the end of the streams a moment before that of the container.
_EVENT_TIMEOUT_S = 10


def ending_of_stopped(daemon: Daemon, container: "Container") -> Ending:
    """How a container ended whose streams have closed. Raises SandboxError when it was ended from outside."""
    import docker.errors

    try:
        daemon.ping()
        with docker_errors("the sandbox container cannot be inspected"):
            try:
                ended_by_itself = _ended_by_itself(daemon, str(container.id))
                container.reload()
            except docker.errors.NotFound:
                raise _vanished() from None
    except LostContainerError:
        raise
    except SandboxError as error:  # Docker itself ended, and the container with it
        raise LostContainerError(error.message, hint=error.hint) from None
    state = container.attrs["State"]
    if not (ended_by_itself or state["OOMKilled"]) or state["Status"] in ("removing", "dead"):
        raise _vanished()
    return Ending(exit_code=int(state["ExitCode"]) or _KILLED, out_of_memory=bool(state["OOMKilled"]))


def ending_of_running(container: "Container") -> Ending:
    """How a job ends that is about to be killed, because it is late or printed too much."""
    with docker_errors("the sandbox container cannot be inspected"):
        container.reload()
    return Ending(exit_code=_KILLED, out_of_memory=bool(container.attrs["State"]["OOMKilled"]))


def _ended_by_itself(daemon: Daemon, container_id: str) -> bool:
    """Whether Docker reports that the container died without being killed. After a restart it reports neither."""
    until = int(time.time()) + _EVENT_TIMEOUT_S
    filters = {"container": container_id, "event": ["kill", "die"]}
    events = daemon.client.api.events(since=1, until=until, filters=filters, decode=True)
    try:
        return next((event["Action"] == "die" for event in events), False)
    finally:
        events.close()


class LostContainerError(SandboxError):
    """The container vanished while its job ran, and nothing was answered."""


def _vanished() -> SandboxError:
    return LostContainerError(
        "the sandbox container vanished while its job ran: it was removed or killed from outside, or Docker restarted",
        hint="run the command again; `amdkernel doctor` checks Docker",
    )
