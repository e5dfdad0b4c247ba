"""The 64 bytes from which the hardware takes what a kernel needs.

Source: LLVM AMDGPUUsage, "Kernel Descriptor" and "compute_pgm_rsrc1" to "compute_pgm_rsrc3".
"""

import struct
from dataclasses import dataclass

from amdkernel_mcp.compiler.object_target import ObjectTarget

BYTES = 64
SUFFIX = ".kd"
"""Of the symbol of a kernel's descriptor."""
_LAYOUT = struct.Struct("<III4xq20xIIIHH4x")
_WAVE_OF_32, _DYNAMIC_STACK = 1 << 10, 1 << 11
_WGP_MODE = 1 << 29
_UNIFIED = ("gfx90a", "gfx942", "gfx950", "gfx9-4-generic")  # VGPRs and AGPRs are one file
_OTHER_GRANULES = ("gfx125", "gfx12-5", "gfx13")  # their granules are not those of their family


@dataclass(frozen=True)
class Descriptor:
    """What is allocated: registers in whole granules. None: this architecture's descriptor does not say it."""

    entry: int  # virtual address of the first instruction
    lds_bytes: int
    scratch_bytes: int
    kernarg_bytes: int | None
    vgprs: int | None  # of the unified file where there is one, so AGPRs included
    agprs: int | None
    sgprs: int | None
    wave_size: int
    cu_mode: bool
    dynamic_stack: bool


def read_descriptor(raw: bytes, *, address: int, target: ObjectTarget) -> Descriptor:
    """raw: 64 bytes, which lie at the virtual `address`."""
    lds, scratch, kernarg, entry, rsrc3, rsrc1, _rsrc2, properties, _preload = _LAYOUT.unpack(raw)
    wave_size = 32 if properties & _WAVE_OF_32 else 64
    vgprs = _vgprs(rsrc1, target, wave_size)
    return Descriptor(
        entry=address + entry,
        lds_bytes=lds,
        scratch_bytes=scratch,
        kernarg_bytes=kernarg or None,  # 0: not said
        vgprs=vgprs,
        agprs=_agprs(rsrc3, vgprs, target),
        sgprs=_sgprs(rsrc1, target),
        wave_size=wave_size,
        cu_mode=(target.family or 0) >= 10 and not rsrc1 & _WGP_MODE,
        dynamic_stack=bool(properties & _DYNAMIC_STACK),
    )


def _vgprs(rsrc1: int, target: ObjectTarget, wave_size: int) -> int | None:
    family = target.family
    if family is None or (target.arch or "").startswith(_OTHER_GRANULES):
        return None
    granule = 8 if target.arch in _UNIFIED or (family >= 10 and wave_size == 32) else 4
    return ((rsrc1 & 63) + 1) * granule


def _agprs(rsrc3: int, vgprs: int | None, target: ObjectTarget) -> int | None:
    """The registers behind the first accumulation register."""
    if vgprs is None or target.arch not in _UNIFIED:
        return None
    behind = vgprs - ((rsrc3 & 63) + 1) * 4
    return behind if behind >= 0 else None


def _sgprs(rsrc1: int, target: ObjectTarget) -> int | None:
    """From RDNA on a wave has its fixed block, and nothing is said."""
    granulated = rsrc1 >> 6 & 15
    if target.family is None or target.family >= 10:
        return None
    return (granulated // 2 + 1) * 16 if target.family == 9 else (granulated + 1) * 8
