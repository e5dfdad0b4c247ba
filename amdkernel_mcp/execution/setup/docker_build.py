"""The base image made by Docker alone: from an image of Debian, for Docker Desktop, which has no mmdebstrap; or from
one of Ubuntu with AMD's packages, which the daemon's machine downloads.

The classic builder of the daemon's API is enough; the packages and what is left out are those of `rootfs.py`.
"""

import io
import json
import tarfile
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings
from amdkernel_mcp.debian import host_allows_expired
from amdkernel_mcp.errors import SandboxError, ToolchainError
from amdkernel_mcp.execution.docker.daemon import Daemon, docker_errors
from amdkernel_mcp.execution.docker.image import DATE, ROCM, SUITES, find_image, hip_release, is_of_amd
from amdkernel_mcp.execution.docker.ownership import ownership_labels
from amdkernel_mcp.execution.docker.reaper import remove
from amdkernel_mcp.execution.setup.rootfs import suites_of
from amdkernel_mcp.progress import Progress

if TYPE_CHECKING:
    from docker.models.images import Image

PLATFORM = "linux/amd64"  # the emulator and hip-python are for x86-64; Docker Desktop on Arm emulates it
_TIMEOUT_S = 3600  # between two lines of the build
UBUNTU = "ubuntu:24.04"
"""Into which AMD's packages are installed."""
_OURS = "amdkernel: "
"""Before a line in which a recipe says what it lacks."""


def build_from(base: str, daemon: Daemon, name: str, settings: Settings, progress: Progress) -> "Image":
    """The image `name` made from the image `base`: Debian, or Ubuntu for AMD's packages. It is pulled where missing.

    Raises ToolchainError with the last lines of the build, SandboxError where the daemon cannot build.
    """
    hip = hip_release(settings)
    what = f"AMD's {hip}" if is_of_amd(settings) else f"HIP {hip}"
    progress(f"installing {what} into {base} with Docker (about {2000 if is_of_amd(settings) else 250} MB)")
    unlabelled = f"{name}-unlabelled"
    with docker_errors("the base image cannot be built"):
        daemon.client.api.timeout = _TIMEOUT_S
        steps = daemon.client.api.build(
            fileobj=_context(settings),
            custom_context=True,
            tag=unlabelled,
            platform=PLATFORM,
            buildargs=arguments(base, settings),
            rm=True,
            forcerm=True,
            decode=True,
        )
        _follow(steps, base, progress)
        _label(daemon, unlabelled, name)
    image = find_image(daemon, name)
    if image is None:
        raise SandboxError("Docker did not keep the image that it built")
    return image


def arguments(base: str, settings: Settings) -> dict[str, str]:
    """What the Dockerfile is built with."""
    if is_of_amd(settings):
        return {"BASE": base, "ROCM": hip_release(settings).removeprefix(ROCM)}
    return {
        "BASE": base,
        "HIP": hip_release(settings),
        "SUITES": " ".join(suites_of(settings)),
        "MIRROR": settings.debian_mirror or "",
        "ALLOW_EXPIRED": "1" if settings.allow_expired_release or host_allows_expired() else "",
    }


def labels(suites: str) -> dict[str, str]:
    """The labels of a base image from the lines of /etc/amdkernel-suites: `forky Fri, 30 Oct 2026 08:08:01 UTC`."""
    dated = [
        (suite, parsedate_to_datetime(date))
        for suite, _, date in (line.partition(" ") for line in suites.split("\n") if line)
    ]
    if not dated:
        return {}
    described = ", ".join(f"{suite} {date:%Y-%m-%dT%H:%M:%SZ}" for suite, date in dated)
    return {DATE: max(date for _, date in dated).isoformat(), SUITES: described}


def _context(settings: Settings) -> io.BytesIO:
    image = folder("sandbox") / "image"
    files = sorted((image / "rocm").iterdir()) if is_of_amd(settings) else [image / "Dockerfile", image / "debian"]
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for file in files:
            archive.add(file, file.name)
    context.seek(0)
    return context


def _follow(steps: Iterator[dict[str, Any]], base: str, progress: Progress) -> None:
    last: list[str] = []
    for step in steps:
        if "error" in step:
            said = "\n".join(last)
            ours = [line.removeprefix(_OURS) for line in last if line.startswith(_OURS)]
            why = ours[-1] if ours else f"{step['error'].strip()}\n{said}".rstrip()
            raise ToolchainError(f"the base image cannot be built from {base}: {why}", hint=_hint(base, ours))
        for line in str(step.get("stream", "")).splitlines():
            if line.strip():
                last = [*last[-10:], line.rstrip()]
            if line.startswith(("Step ", "Setting up ")):
                progress(line[:200])


def _hint(base: str, ours: list[str]) -> str | None:
    """What to do where AMD's packages or the image of Ubuntu cannot be reached."""
    if ours:
        return (
            "let the machine of the Docker daemon reach it, name an image that has ROCm in the setting `image`, or "
            "leave `hip` at `auto`, which takes HIP from Debian"
        )
    if base == UBUNTU:
        return "`amdkernel setup --base IMAGE` takes another image of Ubuntu 24.04 than Docker Hub's"
    return None


def _label(daemon: Daemon, unlabelled: str, name: str) -> None:
    """Tag the image as `name`, with the dates of its suites as labels, and drop its first name."""
    ours = ownership_labels("setup")
    container = daemon.client.containers.create(
        unlabelled, command=["cat", "/etc/amdkernel-suites"], network_mode="none", labels=ours, platform=PLATFORM
    )
    try:
        container.start()
        container.wait()
        found = labels(container.logs(stdout=True, stderr=False).decode())
        values = " ".join(f"{key}={json.dumps(value)}" for key, value in found.items())
        changes = ["CMD []", *(f"LABEL {label}=" for label in ours), *([f"LABEL {values}"] if found else [])]
        container.commit(*name.split(":"), changes=changes)
    finally:
        remove(container)
    daemon.client.images.remove(unlabelled)
