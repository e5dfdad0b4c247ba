"""The targets that the settings name for Slurm, one for each architecture. What Slurm does is in `../slurm`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdkernel_mcp.errors import UnknownTargetError
from amdkernel_mcp.hardware.specs import UNKNOWN_PART, lookup
from amdkernel_mcp.hardware.target import Target

if TYPE_CHECKING:
    from amdkernel_mcp.config import SlurmSettings

SLURM = "slurm"
"""The host of targets whose GPUs Slurm gives."""


def slurm_target(slurm: SlurmSettings, arch: str) -> Target:
    """The target of an architecture. Raises UnknownTargetError for one that the settings do not have."""
    if arch not in slurm.gres:
        raise UnknownTargetError(
            f"there is no target '{SLURM}:{arch}'",
            hint=f"known are {', '.join(f'{SLURM}:{each}' for each in slurm.gres)}",
        )
    named = lookup(slurm.gres[arch].rpartition(":")[2])  # gpu:mi325x; a cluster may call it otherwise
    known = named is not None and named.gfx == arch
    gpu = named.name.removesuffix(" (per GCD)") if named is not None and known else f"{arch}{UNKNOWN_PART}"
    return Target(f"{SLURM}:{arch}", "gpu", arch, gpu, host=SLURM)
