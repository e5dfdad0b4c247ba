"""Remove what a killed client left behind: containers whose deadline has passed or whose process has ended."""

import time
from typing import TYPE_CHECKING

from amdkernel_mcp.execution.docker.daemon import Daemon, docker_errors
from amdkernel_mcp.execution.docker.ownership import OWNER, is_abandoned

if TYPE_CHECKING:
    from docker.models.containers import Container

PERIOD_S = 60.0


def reap(daemon: Daemon) -> list[str]:
    """Remove abandoned containers, ours only; the names of those removed. Raises SandboxError."""
    with docker_errors("the containers cannot be listed"):
        ours = daemon.client.containers.list(all=True, filters={"label": OWNER}, ignore_removed=True)
    # The images that setup makes say `amdkernel.owner=`: a container that a user starts from one inherits that.
    labelled = [container for container in ours if container.labels.get(OWNER)]
    abandoned = [container for container in labelled if is_abandoned(container.labels, now=time.time())]
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
