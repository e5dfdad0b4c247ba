"""`amdkernel setup --prune`: remove the sandbox images that other versions of amdkernel-mcp left."""

from collections.abc import Iterable

from amdkernel_mcp.config import Settings
from amdkernel_mcp.execution.docker.daemon import Daemon, connect, docker_errors
from amdkernel_mcp.execution.docker.image import (
    TORCH,
    base_name,
    compiler_base_name,
    compiler_name,
    compilers,
    find_image,
    of_compiler,
    settled,
    torch_base_name,
    torch_name,
    triton_base_name,
    triton_name,
)
from amdkernel_mcp.execution.layers import IMAGE_STEPS, TRITON_STEP, step_name
from amdkernel_mcp.execution.open_sandbox import docker_url, uses_no_containers
from amdkernel_mcp.execution.setup.parts import SENDING, remove_unfinished
from amdkernel_mcp.progress import Progress

REPOSITORIES = ("amdkernel-base", TORCH, TRITON_STEP.repository, *(step.repository for step in IMAGE_STEPS))


def prune(settings: Settings, progress: Progress, *, host: str | None = None) -> tuple[str, ...]:
    """The names of our images that were removed because these settings and this version do not use them.

    Raises SandboxError.
    """
    if host is None and uses_no_containers(settings):
        return ()
    daemon = connect(docker_url(settings, host))
    try:
        ours = settled(daemon, settings)
        beside = {torch_base_name(ours), torch_name(ours), triton_base_name(ours), triton_name(ours)}
        keep = layer_names(ours) | beside | _compilers(daemon, ours)
        unfinished = remove_unfinished(daemon)
        removed = (*remove_images(daemon, (*REPOSITORIES, SENDING), keep=keep), *unfinished)
    finally:
        daemon.close()
    for name in removed:
        progress(f"removed {name}")
    return removed


def _compilers(daemon: Daemon, settings: Settings) -> frozenset[str]:
    """The images of the other compilers that are installed, with the layers that they share."""
    others = [of_compiler(settings, hip) for hip in compilers()]
    there = [each for each in others if find_image(daemon, compiler_name(each))]
    return frozenset(name(each) for each in there for name in (base_name, compiler_base_name, compiler_name))


def layer_names(settings: Settings) -> frozenset[str]:
    """The base image of these settings and the layers on it."""
    names = [base_name(settings)]
    for step in IMAGE_STEPS:
        names.append(step_name(step, names[-1]))
    return frozenset(names)


def remove_images(daemon: Daemon, repositories: Iterable[str], *, keep: frozenset[str]) -> tuple[str, ...]:
    """Remove the images of `repositories` not named in `keep`, but none that a container uses. Raises SandboxError."""
    import docker.errors

    removed = []
    with docker_errors("the images cannot be listed"):
        images = [image for repository in repositories for image in daemon.client.images.list(repository)]
    for name in sorted({tag for image in images for tag in image.tags} - keep, reverse=True):
        with docker_errors(f"the image {name} cannot be removed"):
            try:
                daemon.client.images.remove(name)
            except docker.errors.APIError as refusal:
                if refusal.status_code not in (404, 409):  # 404: it has been removed already; 409: a container uses it
                    raise
            else:
                removed.append(name)
    return tuple(removed)
