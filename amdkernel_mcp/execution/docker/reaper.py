"""Remove what a killed client left behind: containers whose deadline has passed or whose process has ended."""

import time
from typing import TYPE_CHECKING

from amdkernel_mcp.execution.docker.daemon import Daemon, docker_errors
from amdkernel_mcp.execution.docker.ownership import OWNER, is_abandoned, is_of_this_process

if TYPE_CHECKING:
    from docker.models.containers import Container

# A container that ended without its client is removed at the second look: 24 s at most.
PERIOD_S = 12.0


def reap(daemon: Daemon, ended: set[str] | None = None) -> list[str]:
    """Remove abandoned containers, ours only; the names of those removed. Raises SandboxError.

    ended: the containers of this process that had ended at the last call, and in return at this one. Those that had
    ended before are removed: they were lost with a tunnel, since a job's container is removed at its end.
    """
    with docker_errors("the containers cannot be listed"):
        ours = daemon.client.containers.list(all=True, filters={"label": OWNER}, ignore_removed=True)
    # The images that setup makes say `amdkernel.owner=`: a container that a user starts from one inherits that.
    labelled = [container for container in ours if container.labels.get(OWNER)]
    abandoned = [container for container in labelled if is_abandoned(container.labels, now=time.time())]
    if ended is not None:
        mine = {str(one.id): one for one in labelled if one.status == "exited" and is_of_this_process(one.labels)}
        abandoned += [container for name, container in mine.items() if name in ended]
        ended.clear()
        ended.update(mine)
    for container in abandoned:
        remove(container)
    return [str(container.name) for container in abandoned]


def remove(container: "Container") -> None:
    """Kill a container and remove it; no effect on one whose removal has begun."""
    import docker.errors

    with docker_errors("a container cannot be removed"):
        try:
            container.remove(force=True, v=True)
        except docker.errors.NotFound:
            return
        except docker.errors.APIError as error:
            if error.status_code != 409:  # "removal is already in progress"
                raise
