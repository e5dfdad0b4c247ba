"""Waves per SIMD against the figures that LLVM publishes."""

from typing import Any

import pytest

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.hardware.occupancy import SIMDS, Limit, occupancy


def waves(arch: str, *, vgprs: int = 1, sgprs: int = 1, lds: int = 0, group: int = 64, wave: int | None = None) -> int:
    native = SIMDS[arch].native_wave
    return occupancy(
        arch, vgprs=vgprs, sgprs=sgprs, lds_bytes=lds, workgroup_size=group, wave_size=wave or native
    ).waves_per_simd


# Source: llvm/test/CodeGen/AMDGPU/occupancy-levels.ll, the `used_*_vgprs` functions.
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("vgprs", "expected"),
    [(1, 8), (48, 8), (64, 8), (65, 7), (72, 7), (73, 6), (80, 6), (81, 5), (96, 5), (97, 4), (128, 4), (129, 3),
     (168, 3), (169, 2), (256, 2), (257, 1), (512, 1)],
)  # fmt: skip
def test_vgprs_of_cdna_come_from_a_unified_file_of_512_in_eights(arch: str, vgprs: int, expected: int) -> None:
    assert waves(arch, vgprs=vgprs) == expected


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize(
    ("vgprs", "expected"), [(96, 16), (97, 12), (120, 12), (121, 10), (144, 10), (145, 9), (192, 8), (193, 7), (256, 5)]
)
def test_vgprs_of_rdna_come_from_1536_in_steps_of_24(arch: str, vgprs: int, expected: int) -> None:
    assert waves(arch, vgprs=vgprs, group=32) == expected


@pytest.mark.parametrize(("vgprs", "expected"), [(48, 16), (49, 12), (60, 12), (256, 2)])
def test_a_wave64_of_rdna_takes_two_registers_for_one(vgprs: int, expected: int) -> None:
    assert waves("gfx1100", vgprs=vgprs, wave=64) == expected


# Source: LLVM pull request 201342: floor(800 / (round_up(SGPRs, 16) + 16 of the trap handler)).
@pytest.mark.parametrize(("sgprs", "expected"), [(80, 8), (81, 7), (96, 7), (97, 6), (108, 6)])
def test_sgprs_of_cdna_are_charged_with_the_trap_handlers(sgprs: int, expected: int) -> None:
    assert waves("gfx942", sgprs=sgprs) == expected


def test_sgprs_limit_nothing_on_rdna() -> None:
    assert waves("gfx1100", sgprs=108, group=32) == 16


@pytest.mark.parametrize(
    ("arch", "lds", "group", "expected"),
    [
        ("gfx942", 65536, 256, 1),  # one group of 4 waves on 4 SIMDs
        ("gfx942", 32768, 256, 2),
        ("gfx942", 32769, 256, 1),  # the granule of 512 bytes
        ("gfx942", 65536, 1024, 4),
        ("gfx950", 65536, 256, 2),  # 160 KiB
        ("gfx950", 81921, 256, 1),  # the granule of 1280 bytes
        ("gfx1100", 65536, 256, 4),  # two groups of 8 waves in the 128 KiB of a WGP
        ("gfx942", 65537, 256, 0),
    ],
)
def test_lds_is_shared_by_whole_work_groups(arch: str, lds: int, group: int, expected: int) -> None:
    assert waves(arch, lds=lds, group=group) == expected


def test_a_large_work_group_leaves_slots_empty() -> None:
    assert waves("gfx942", group=768) == 6, "two groups of 12 waves in 32 slots"


@pytest.mark.parametrize(
    ("resources", "limit"),
    [({}, "wave_slots"), ({"vgprs": 200}, "vgpr"), ({"sgprs": 100}, "sgpr"), ({"lds_bytes": 40_000}, "lds")],
)
def test_the_limit_is_named(resources: dict[str, int], limit: Limit) -> None:
    given: dict[str, Any] = {"vgprs": 8, "sgprs": 8, "lds_bytes": 0, **resources}
    assert occupancy("gfx942", workgroup_size=256, wave_size=64, **given).limit == limit


def test_an_arch_without_a_table_is_refused() -> None:
    with pytest.raises(InputError, match="gfx906"):
        occupancy("gfx906", vgprs=1, sgprs=1, lds_bytes=0, workgroup_size=64, wave_size=64)
