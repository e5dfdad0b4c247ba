"""Which image a sandbox runs: its name is a hash of all that goes into it, and it is used by its id only.

Layers, each named by what it is made from, so that a change makes anew only what stands on it:
base (compiler, Python, NumPy), then the steps of `STEPS`, the last of which is the sandbox image.
"""

import hashlib
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.docker.daemon import Daemon, docker_errors

if TYPE_CHECKING:
    from docker.models.images import Image

SETUP_HINT = "`amdkernel setup` builds it"
# Labels of the base image: the date of the newest of its Debian suites, and all of them as text.
DATE, SUITES = "amdkernel.date", "amdkernel.suites"
# The HIP releases that Debian has; the first is taken where the settings leave the choice and the mirror has it.
HIP_RELEASES = ("7.2", "6.4")


@dataclass(frozen=True)
class Step:
    """One layer: files of sandbox/ by their place in /opt/amdkernel, and the script that makes the rest from them."""

    repository: str
    script: str
    contents: tuple[tuple[str, str], ...]  # (below sandbox/, below /opt/amdkernel)
    hip_python: bool = False


STEPS = (
    Step(
        "amdkernel-compiler", "image/build_compiler.sh", (("image/compile", "compile"), ("image/check.sh", "check.sh"))
    ),
    Step(
        "amdkernel-sandbox",
        "image/build_runner.sh",
        (("runner", "runner"), ("emulator", "emulator"), ("image/hip-python.txt", "hip-python.txt")),
        hip_python=True,
    ),
)


def hip_release(settings: Settings) -> str:
    """The HIP release that these settings ask for; the newest where they leave the choice."""
    return HIP_RELEASES[0] if settings.hip == "auto" else settings.hip


def settled(daemon: Daemon, settings: Settings) -> Settings:
    """The settings with `hip` decided: with `auto`, the newest release whose base image is on the daemon."""
    if settings.image or settings.hip != "auto":
        return settings
    choices = [settings.model_copy(update={"hip": hip}) for hip in HIP_RELEASES]
    return next((choice for choice in choices if find_image(daemon, base_name(choice))), choices[0])


def base_name(settings: Settings) -> str:
    """Name of the base image: the user's, or that of the one built from Debian packages."""
    if settings.image:
        return settings.image
    hip = hip_release(settings)
    digest = hashlib.sha256(f"{settings.debian_suite} {hip}".encode())
    for name in ("packages.txt", "leave-out.txt", f"hip-{hip}.txt", f"hip-{hip}.pref"):
        digest.update((folder("sandbox") / "image" / "debian" / name).read_bytes())
    return f"amdkernel-base:{digest.hexdigest()[:16]}"


def step_name(step: Step, parent: str) -> str:
    """Name of the image that `step` makes from the image called `parent`."""
    digest = hashlib.sha256(parent.encode())
    for path, file in (step_files(step) | {"": folder("sandbox") / step.script}).items():
        content = file.read_bytes()
        digest.update(f"{path}\0{len(content)}\0".encode() + content)
    return f"{step.repository}:{digest.hexdigest()[:16]}"


def image_name(settings: Settings) -> str:
    """Name of the sandbox image that belongs to these settings and to this version of sandbox/."""
    return reduce(lambda parent, step: step_name(step, parent), STEPS, base_name(settings))


def step_files(step: Step) -> dict[str, Path]:
    """The files that a step puts into the image, by their path below /opt/amdkernel."""
    found: dict[str, Path] = {}
    for source, target in step.contents:
        root = folder("sandbox") / source
        if root.is_file():
            found[target] = root
        for path in sorted(root.rglob("*")):
            if path.is_file() and not _is_by_product(path):
                found[f"{target}/{path.relative_to(root)}"] = path
    return found


def find_image(daemon: Daemon, name: str) -> "Image | None":
    """The image of this name on that daemon; None when it is not there."""
    import docker.errors

    with docker_errors("the images cannot be listed"):
        try:
            return daemon.client.images.get(name)
        except docker.errors.ImageNotFound:
            return None


def sandbox_image_id(daemon: Daemon, settings: Settings) -> str:
    """Id of the sandbox image. Raises ToolchainError when it has not been built for this version."""
    name = image_name(settled(daemon, settings))
    image = find_image(daemon, name)
    if image is None:
        raise ToolchainError(f"the sandbox image {name} has not been built", hint=SETUP_HINT)
    return str(image.id)


def _is_by_product(path: Path) -> bool:
    return "__pycache__" in path.parts or path.suffix in (".pyc", ".o", ".so", ".d", ".md") or path.name.startswith(".")
