"""Whether workgroups can communicate, read off the disassembly."""

import pytest

from amdkernel_mcp.compiler.disassembly import communicates


@pytest.mark.parametrize(
    "line",
    [
        "global_atomic_add_f32 v0, v1, s[0:1]",
        "flat_atomic_cmpswap v0, v[0:1], v[2:3] sc0",
        "buffer_atomic_add v0, off, s[0:3], 0",
        "global_load_dword v1, v0, s[0:1] sc0 sc1",
        "flat_load_dword v1, v[0:1] glc",
        "global_load_b32 v1, v0, s[0:1] scope:SCOPE_DEV",
        "s_sleep 1",
    ],
)
def test_atomics_polling_and_waiting_communicate(line: str) -> None:
    assert communicates(f"\tv_mov_b32_e32 v0, 0  // 0001\n\t{line}  // 0002\n")


@pytest.mark.parametrize(
    "line",
    [
        "global_load_dword v1, v0, s[0:1] nt",
        "global_store_dword v0, v1, s[0:1] sc1",
        "ds_add_u32 v0, v1",
        "s_load_dwordx2 s[0:1], s[4:5], 0x0",
        "global_load_dword v1, v0, s[0:1]  // 0002: sc1 glc",
    ],
)
def test_plain_loads_stores_and_lds_do_not(line: str) -> None:
    assert not communicates(f"\t{line}  // 0002\n")
