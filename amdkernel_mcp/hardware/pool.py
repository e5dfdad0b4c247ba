"""Names of pools: targets that say which kind of GPU is wanted and not which card."""

from __future__ import annotations

import re
from collections.abc import Sequence

from amdkernel_mcp.errors import UnknownTargetError
from amdkernel_mcp.hardware.specs import lookup

_POOL = re.compile(r"any|any:[\w .()-]{1,60}|gfx[0-9a-f]{3,5}", re.IGNORECASE)


def is_pool(target: str) -> bool:
    """Whether a target is `any`, `any:PRODUCT` or an architecture such as `gfx942`."""
    return _POOL.fullmatch(target) is not None


def is_in_pool(arch: str, gpu: str, pool: str) -> bool:
    """Whether a GPU with this architecture and product belongs to `pool`."""
    kind, _, product = pool.lower().partition(":")
    if kind != "any":
        return arch == kind
    if not product:
        return True
    if re.fullmatch(r"gfx[0-9a-f]+", product):
        return arch == product
    wanted, found = lookup(product), lookup(gpu)
    return gpu.lower() == product if wanted is None or found is None else wanted.name == found.name


def no_gpu_in_pool(pool: str, known: Sequence[str]) -> UnknownTargetError:
    """The error where no GPU belongs to `pool`; an emulated one never takes its place unasked."""
    return UnknownTargetError(f"there is no GPU for {pool!r}", hint=f"known are {', '.join(known) or 'none'}")
