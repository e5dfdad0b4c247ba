"""How many waves of a kernel fit on one SIMD at a time, by registers, LDS and slots.

Sources: LLVM 21, llvm/lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp (IsaInfo: register files, granules, waves per EU, work
groups per CU, LDS granule) and test/CodeGen/AMDGPU/occupancy-levels.ll; for SGPRs LLVM pull request 201342 (June
2026), which charges the granule and the trap handler's reserve, as ROCm's runtime does since: LLVM 21's own remark is
up to one wave too high above 80 SGPRs.
"""

from dataclasses import dataclass
from typing import Literal

from amdkernel_mcp.errors import InputError

Limit = Literal["wave_slots", "vgpr", "sgpr", "lds"]

_TRAP_HANDLER_SGPRS = 16
_SGPR_GRANULE = 16


@dataclass(frozen=True)
class Simd:
    """The resources of one SIMD, and of the unit (CU; on RDNA in WGP mode two) that shares an LDS."""

    vgprs: int  # registers per lane for waves of the native size, AGPRs included
    vgpr_granule: int
    native_wave: int
    wave_slots: int
    sgprs: int | None  # None: each wave has its fixed block, so SGPRs limit nothing
    simds: int
    lds_bytes: int
    lds_granule: int
    barriers: int  # work groups of more than one wave that the unit can hold


def _cdna(lds_bytes: int, lds_granule: int) -> Simd:
    return Simd(512, 8, 64, 8, 800, 4, lds_bytes, lds_granule, 16)


def _rdna() -> Simd:
    return Simd(1536, 24, 32, 16, None, 4, 128 << 10, 512, 32)


SIMDS: dict[str, Simd] = {
    "gfx90a": _cdna(64 << 10, 512),
    "gfx942": _cdna(64 << 10, 512),
    "gfx950": _cdna(160 << 10, 1280),
    "gfx1100": _rdna(),
    "gfx1201": _rdna(),
}


@dataclass(frozen=True)
class Occupancy:
    """Waves per SIMD and the resource that sets it; `wave_slots` when the hardware's own limit is reached."""

    waves_per_simd: int
    limit: Limit


def occupancy(
    arch: str,
    *,
    vgprs: int,
    sgprs: int,
    lds_bytes: int,
    workgroup_size: int,
    wave_size: int,
    cu_mode: bool = False,
) -> Occupancy:
    """Waves that can be resident on a SIMD.

    vgprs: of the unified file, so AGPRs included (`.vgpr_count` of the code object). sgprs: with VCC and the like
    (`.sgpr_count`). lds_bytes: per work group, static plus dynamic. cu_mode: RDNA's, half a WGP to a work group.
    A kernel that does not fit at all (LDS over the limit) has 0. Raises InputError for an arch without a table.
    """
    simd = SIMDS.get(arch)
    if simd is None:
        raise InputError(f"no occupancy table for {arch}", hint=f"known are {', '.join(SIMDS)}")
    groups = _Groups(simd, workgroup_size, wave_size, cu_mode=cu_mode)
    waves: dict[Limit, int] = {
        "wave_slots": groups.waves_by_slots(),
        "vgpr": _by_vgprs(simd, vgprs, wave_size),
        "sgpr": _by_sgprs(simd, sgprs),
        "lds": groups.waves_by_lds(lds_bytes),
    }
    limit = min(waves, key=lambda name: waves[name])  # the first of equals: slots before registers before LDS
    return Occupancy(waves[limit], limit)


def _by_vgprs(simd: Simd, vgprs: int, wave_size: int) -> int:
    """A wave twice the native size takes two registers for one."""
    wide = max(wave_size // simd.native_wave, 1)
    per_wave = _round_up(max(vgprs, 1), simd.vgpr_granule // wide)
    return max(min(simd.vgprs // wide // per_wave, simd.wave_slots), 1)


def _by_sgprs(simd: Simd, sgprs: int) -> int:
    if simd.sgprs is None:
        return simd.wave_slots
    return min(simd.sgprs // (_round_up(max(sgprs, 1), _SGPR_GRANULE) + _TRAP_HANDLER_SGPRS), simd.wave_slots)


class _Groups:
    """Work groups on the unit that holds a whole one; where they split unevenly, the fullest SIMD counts."""

    def __init__(self, simd: Simd, workgroup_size: int, wave_size: int, *, cu_mode: bool) -> None:
        share = 2 if cu_mode and simd.native_wave == 32 else 1
        self._simd = simd
        self._simds, self._lds = simd.simds // share, simd.lds_bytes // share
        self._waves = -(-max(workgroup_size, 1) // wave_size)
        slots = simd.wave_slots * self._simds // self._waves
        # A group of one wave needs no barrier.
        self._most = min(slots, simd.barriers // share) if self._waves > 1 else slots

    def waves_by_slots(self) -> int:
        return self._spread(self._most)

    def waves_by_lds(self, lds_bytes: int) -> int:
        if lds_bytes == 0:
            return self._simd.wave_slots
        return self._spread(min(self._most, self._lds // _round_up(lds_bytes, self._simd.lds_granule)))

    def _spread(self, groups: int) -> int:
        return min(-(-groups * self._waves // self._simds), self._simd.wave_slots)


def _round_up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
