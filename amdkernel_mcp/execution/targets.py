"""Where code runs: the emulator, this machine's GPUs, the GPUs of configured hosts."""

import re
from dataclasses import dataclass
from typing import Literal

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import UnknownTargetError
from amdkernel_mcp.execution.gpus import local_gpus
from amdkernel_mcp.results import TargetInfo

EMULATED = {"gfx942": "MI300X"}


@dataclass(frozen=True)
class Target:
    """One place where code runs. `host` is None for this machine, `index` None for the emulator."""

    name: str
    kind: Literal["emulator", "gpu"]
    arch: str
    gpu: str
    host: str | None = None
    index: int | None = None


def find_target(name: str | None, settings: Settings) -> Target:
    """The target of this name, or the default one. Raises UnknownTargetError with the names that there are."""
    name = name or settings.default_target
    for target in _known():
        if target.name == name:
            return target
    host, _, index = name.partition(":")
    if host in settings.hosts and re.fullmatch(r"\d{1,3}", index):
        raise UnknownTargetError(
            f"{name}: GPUs of other hosts are not driven by this version; {settings.hosts[host]} can hold the sandbox only",
            hint="set docker_host to it, and use emulator:gfx942",
        )
    known = ", ".join(target.name for target in _known())
    raise UnknownTargetError(f"there is no target {name!r}", hint=f"known are {known}")


def list_targets(settings: Settings) -> list[TargetInfo]:
    """All targets, the default one marked."""
    return [
        TargetInfo(
            name=target.name,
            kind=target.kind,
            arch=target.arch,
            gpu=target.gpu,
            rocm=None,
            default=target.name == settings.default_target,
            ready=True,
            note="exact counts, no timing" if target.kind == "emulator" else None,
        )
        for target in _known()
    ]


def _known() -> list[Target]:
    emulated = [Target(f"emulator:{arch}", "emulator", arch, gpu) for arch, gpu in EMULATED.items()]
    return emulated + [Target(f"local:{gpu.index}", "gpu", gpu.arch, gpu.name, index=gpu.index) for gpu in local_gpus()]
