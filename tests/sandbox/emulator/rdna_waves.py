"""The frame around a line for RDNA: two waves of 32 lanes stand for one of 64.

The first wave has lanes 0 to 31 of a state, the second lanes 32 to 63, each with its half of EXEC and VCC. So a line that
keeps lanes apart leaves the state that NumPy computes for 64 lanes, and the other scalars are those of the first wave.
"""

from collections.abc import Sequence

KERNEL = """
.globl line_{n}
.p2align 8
.type line_{n},@function
line_{n}:
  s_load_b128 s[40:43], s[0:1], 0x0
  s_load_b64 s[20:21], s[0:1], 0x10
  v_and_b32 v0, 0x3ff, v0
  v_lshlrev_b32 v255, 2, v0
  v_readfirstlane_b32 s50, v0
  s_wait_idle
  s_load_b512 s[4:19], s[40:41], {scalars}
  s_load_b128 s[44:47], s[40:41], {scalars}+64
  s_load_b64 s[48:49], s[40:41], {scalars}+80
{loads}
  s_wait_idle
  s_cmp_lg_u32 s50, 0
  s_cselect_b32 vcc_lo, s45, s44
  s_cselect_b32 s51, s47, s46
  s_mov_b32 m0, s49
  s_cmp_lg_u32 s48, 0
  s_mov_b32 exec_lo, s51
{line}
  s_wait_idle
  s_cselect_b32 s48, 1, 0
  s_mov_b32 s46, exec_lo
  s_mov_b32 s44, vcc_lo
  s_mov_b32 s49, m0
  s_mov_b32 exec_lo, -1
{stores}
  s_endpgm
.size line_{n}, .-line_{n}
.section .rodata,"a"
.p2align 6
.amdhsa_kernel line_{n}
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_wavefront_size32 1
  .amdhsa_next_free_vgpr 256
  .amdhsa_next_free_sgpr 96
  .amdhsa_float_denorm_mode_32 3
  .amdhsa_group_segment_fixed_size 4096
  .amdhsa_private_segment_fixed_size 64
.end_amdhsa_kernel
.text
"""


def rows(verb: str, first: int, count: int, base: str) -> list[str]:
    """One line a register; the base moves on every eight, as RDNA3's offset ends at 4095."""
    lines = []
    for row in range(count):
        if row and row % 8 == 0:
            lines += [f"  s_add_u32 s{base}, s{base}, 2048", f"  s_addc_u32 s{int(base) + 1}, s{int(base) + 1}, 0"]
        where = f"s[{base}:{int(base) + 1}] offset:{row % 8 * 256}"
        register = f"v{first + row}"
        lines.append(f"  {verb} {register}, v255, {where}" if "load" in verb else f"  {verb} v255, {register}, {where}")
    return lines


def stores(registers: int, scalars: Sequence[int]) -> str:
    out = rows("global_store_b32", 0, registers, "42")
    for row, scalar in enumerate(scalars):
        if row % 8 == 0:
            out += ["  s_add_u32 s42, s42, 2048", "  s_addc_u32 s43, s43, 0"]
        out += [f"  v_mov_b32 v254, s{scalar}", f"  global_store_b32 v255, v254, s[42:43] offset:{row % 8 * 256}"]
    return "\n".join(out)
