"""Which image a sandbox runs: its name is a hash of everything it is made from, and it is used by its id only.

A base image (compiler, Python, NumPy), and on it the layers of `IMAGE_STEPS`; the last one is the sandbox image.
"""

import hashlib
from functools import reduce
from typing import TYPE_CHECKING, get_args

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import ToolchainError
from amdkernel_mcp.execution.docker.daemon import Daemon, docker_errors
from amdkernel_mcp.execution.layers import COMPILER_STEP, IMAGE_STEPS, SETUP_HINT, TRITON_STEP, step_name

if TYPE_CHECKING:
    from docker.models.images import Image

# Labels of the base image: the date of the newest of its Debian suites, and all of them as text.
DATE, SUITES = "amdkernel.date", "amdkernel.suites"
# The HIP releases that Debian has; the first is taken where the settings leave the choice and the mirror has it.
HIP_RELEASES = ("7.2", "6.4")
TORCH = "amdkernel-torch"
ROCM = "rocm-"
"""Before the release in the setting `hip`, where AMD's packages are asked for."""


def hip_release(settings: Settings) -> str:
    """The HIP release that these settings ask for; the newest where they leave the choice."""
    return HIP_RELEASES[0] if settings.hip == "auto" else settings.hip


def is_of_amd(settings: Settings) -> bool:
    """Whether the base image is one of Ubuntu with AMD's packages, which Docker makes."""
    return not settings.image and settings.hip.startswith(ROCM)


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
    if is_of_amd(settings):
        digest, lists = hashlib.sha256(hip.encode()), "rocm"
        names: tuple[str, ...] = ("Dockerfile", "install.sh", "packages.txt", f"{hip}.txt")
    else:
        digest, lists = hashlib.sha256(f"{settings.debian_suite} {hip}".encode()), "debian"
        names = ("packages.txt", "leave-out.txt", f"hip-{hip}.txt", f"hip-{hip}.pref")
    for name in names:
        digest.update((folder("sandbox") / "image" / lists / name).read_bytes())
    return f"amdkernel-base:{digest.hexdigest()[:16]}"


def torch_name(settings: Settings) -> str:
    """Name of the image in which references run that import torch: its base, and on it our PID 1."""
    return _with_init(torch_base_name(settings))


def torch_base_name(settings: Settings) -> str:
    """Name of the image with PyTorch from Debian packages."""
    digest = hashlib.sha256(settings.debian_suite.encode())
    for name in ("torch.txt", "torch-leave-out.txt", "leave-out.txt"):
        digest.update((folder("sandbox") / "image" / "debian" / name).read_bytes())
    return f"{TORCH}:{digest.hexdigest()[:16]}"


def triton_name(settings: Settings) -> str:
    """Name of the image that compiles Triton kernels: its base, and on it our PID 1. `settings`: settled ones."""
    return _with_init(triton_base_name(settings))


def triton_base_name(settings: Settings) -> str:
    """Name of the image with Triton on the base image of these settings."""
    return step_name(TRITON_STEP, base_name(settings))


def of_compiler(settings: Settings, hip: str) -> Settings:
    """The settings whose base image holds the compiler of the HIP release `hip`, a value of the setting."""
    return settings.model_copy(update={"hip": hip, "image": None})


def compilers() -> tuple[str, ...]:
    """The HIP releases whose compilers can be installed next to the sandbox's own."""
    return tuple(name for name in get_args(Settings.model_fields["hip"].annotation) if name != "auto")


def compiler_name(settings: Settings) -> str:
    """Name of the image that compiles alone: its base, and on it our PID 1. `settings`: see `of_compiler`."""
    return _with_init(compiler_base_name(settings))


def compiler_base_name(settings: Settings) -> str:
    """Name of the layer with the compiler's scripts on the base image of these settings."""
    return step_name(COMPILER_STEP, base_name(settings))


def _with_init(base: str) -> str:
    init = (folder("sandbox") / "image" / "init.c").read_bytes()
    digest = hashlib.sha256(base.encode() + init)
    return f"{base.partition(':')[0]}:{digest.hexdigest()[:16]}"


def image_name(settings: Settings) -> str:
    """Name of the sandbox image that belongs to these settings and to this version of sandbox/."""
    return reduce(lambda parent, step: step_name(step, parent), IMAGE_STEPS, base_name(settings))


def find_image(daemon: Daemon, name: str) -> "Image | None":
    """The image of this name on that daemon; None when it is not there."""
    import docker.errors

    with docker_errors("the images cannot be listed"):
        try:
            return daemon.client.images.get(name)
        except docker.errors.ImageNotFound:
            return None


def sandbox_image_id(daemon: Daemon, settings: Settings, *, host: str | None = None) -> str:
    """Id of the sandbox image on that daemon, which is the one of `host` if given.

    Raises ToolchainError when it has not been built for this version.
    """
    name = image_name(settled(daemon, settings))
    image = find_image(daemon, name)
    if image is None:
        where, hint = (f" on {host}", f"`amdkernel setup --host {host}` builds it") if host else ("", SETUP_HINT)
        raise ToolchainError(f"the sandbox image {name} has not been built{where}", hint=hint)
    return str(image.id)


def torch_image_id(daemon: Daemon, settings: Settings, *, host: str | None = None) -> str:
    """Id of the image with PyTorch on that daemon. Raises ToolchainError when it has not been built."""
    image = find_image(daemon, torch_name(settings))
    if image is None:
        where = f" --host {host}" if host else ""
        raise ToolchainError(
            "the reference imports torch, and PyTorch is not installed in the sandbox",
            hint=f"`amdkernel setup --torch{where}` installs it; NumPy in float64 needs nothing",
        )
    return str(image.id)


def triton_image_id(daemon: Daemon, settings: Settings, *, host: str | None = None) -> str:
    """Id of the image with Triton on that daemon. Raises ToolchainError when it has not been built."""
    image = find_image(daemon, triton_name(settled(daemon, settings)))
    if image is None:
        where = f" --host {host}" if host else ""
        raise ToolchainError(
            "the kernel is in Triton or FlyDSL, which are not installed in the sandbox",
            hint=f"`amdkernel setup --triton{where}` installs both: 370 MB to download, no GPU and no torch",
        )
    return str(image.id)


def compiler_image_id(daemon: Daemon, settings: Settings, hip: str) -> str:
    """Id of the image that holds the compiler of another HIP release. Raises ToolchainError when it is not there."""
    if not settings.image and settled(daemon, settings).hip == hip:
        return sandbox_image_id(daemon, settings)
    image = find_image(daemon, compiler_name(of_compiler(settings, hip)))
    if image is None:
        raise ToolchainError(
            f"the compiler of HIP {hip} is not installed next to the sandbox's own",
            hint=f"`amdkernel setup --compiler {hip}` installs it; no GPU is needed",
        )
    return str(image.id)
