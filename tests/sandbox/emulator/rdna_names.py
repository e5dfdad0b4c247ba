"""Lines of CDNA's assembly in RDNA's words, so that one table of expectations serves both.

Source: RDNA3 ISA and RDNA4 ISA compared with CDNA3 ISA, instruction by instruction.
"""

import re

_WIDTHS = {"dwordx2": "b64", "dwordx3": "b96", "dwordx4": "b128", "dwordx8": "b256", "dwordx16": "b512", "dword": "b32",
           "ubyte": "u8", "sbyte": "i8", "ushort": "u16", "sshort": "i16", "byte": "b8", "short": "b16"}  # fmt: skip
_ATOMICS = {"swap": "b", "cmpswap": "b", "add": "u", "sub": "u", "smin": "i", "umin": "u", "smax": "i", "umax": "u",
            "and": "b", "or": "b", "xor": "b", "inc": "u", "dec": "u"}  # fmt: skip
_WORDS = {
    "s_andn2": "s_and_not1", "s_orn2": "s_or_not1", "s_andn1": "s_and_not0", "s_orn1": "s_or_not0",
    "s_ff1_i32": "s_ctz_i32", "s_flbit_i32_b32": "s_clz_i32_u32", "s_flbit_i32_b64": "s_clz_i32_u64",
    "s_flbit_i32_i64": "s_cls_i32_i64", "s_flbit_i32": "s_cls_i32",
    "v_addc_co_u32": "v_add_co_ci_u32", "v_subb_co_u32": "v_sub_co_ci_u32", "v_subbrev_co_u32": "v_subrev_co_ci_u32",
    "v_ffbh_u32": "v_clz_i32_u32", "v_ffbl_b32": "v_ctz_i32_b32", "v_ffbh_i32": "v_cls_i32",
    "v_cvt_rpi_i32_f32": "v_cvt_nearest_i32_f32", "v_cvt_flr_i32_f32": "v_cvt_floor_i32_f32",
    "v_cvt_pkrtz_f16_f32": "v_cvt_pk_rtz_f16_f32", "v_cvt_pknorm_": "v_cvt_pk_norm_",
    "v_mul_legacy_f32": "v_mul_dx9_zero_f32", "v_dot2c_f32_": "v_dot2acc_f32_", "_tru_f": "_t_f",
    "ds_read2st64_": "ds_load_2addr_stride64_", "ds_read2_": "ds_load_2addr_", "ds_read_": "ds_load_",
    "ds_write2st64_": "ds_store_2addr_stride64_", "ds_write2_": "ds_store_2addr_", "ds_write_": "ds_store_",
    "ds_wrxchg2st64_": "ds_storexchg_2addr_stride64_", "ds_wrxchg2_": "ds_storexchg_2addr_", "ds_wrxchg_": "ds_storexchg_",
}  # fmt: skip
_WORDS_OF_GFX12 = {
    "v_mad_u64_u32": "v_mad_co_u64_u32", "v_mad_i64_i32": "v_mad_co_i64_i32", "s_add_u32": "s_add_co_u32",
    "s_sub_u32": "s_sub_co_u32", "s_add_i32": "s_add_co_i32", "s_sub_i32": "s_sub_co_i32", "s_addk_i32": "s_addk_co_i32",
    "s_addc_u32": "s_add_co_ci_u32", "s_subb_u32": "s_sub_co_ci_u32", "_min_f32": "_min_num_f32", "_max_f32": "_max_num_f32",
    "_min_f16": "_min_num_f16", "_max_f16": "_max_num_f16", "v_min_f64": "v_min_num_f64", "v_max_f64": "v_max_num_f64",
    "ds_min_f": "ds_min_num_f", "ds_max_f": "ds_max_num_f", "ds_min_rtn_f": "ds_min_num_rtn_f", "v_min3_f": "v_min3_num_f",
    "ds_max_rtn_f": "ds_max_num_rtn_f", "v_max3_f": "v_max3_num_f", "v_med3_f": "v_med3_num_f",
}  # fmt: skip
_SIZED = re.compile(
    rf"\b((?:s|s_buffer|global|flat|scratch|buffer)_(?:load|store))_({'|'.join(_WIDTHS)})(_d16_hi|_d16)?\b"
)
_ATOMIC = re.compile(rf"\b(\w+_atomic)_({'|'.join(_ATOMICS)})(_x2)?(?=\s)")
_COMPARE_AND_STORE = re.compile(r"ds_cmpst(_\w+) (.*)(v\S+), (v\S+)$", re.MULTILINE)
_NO_CARRY = re.compile(r"\bv_(add|sub|subrev)_([ui](?:16|32))")


def _sized(found: re.Match[str]) -> str:
    verb, width, half = found[1], _WIDTHS[found[2]], found[3] or ""
    if not half:
        return f"{verb}_{width}"
    width = {"b8": "b8", "b16": "b16"}.get(width, width)
    return f"{verb}{half}_{width}"


def _atomic(found: re.Match[str]) -> str:
    return f"{found[1]}_{found[2].lstrip('su') if found[2][1:] in ('min', 'max') else found[2]}_{_ATOMICS[found[2]]}{64 if found[3] else 32}"


def renamed(text: str, target: str) -> str:
    """The same line for a target of RDNA: `gfx1100`, `gfx1201`, or one of them `/64`."""
    for old, new in _WORDS.items():
        text = re.sub(r"\b" + old if old[0] != "_" else old, new, text)
    if target.startswith("gfx12"):
        for old, new in _WORDS_OF_GFX12.items():
            text = re.sub(r"\b" + old if old[0] != "_" else r"(?<=\bv|\bk)" + old, new, text)
    text = _SIZED.sub(_sized, _ATOMIC.sub(_atomic, text))
    text = _NO_CARRY.sub(r"v_\1_nc_\2", text)
    text = text.replace("_e32", "")
    text = re.sub(r"\bs_waitcnt\b.*", "s_wait_idle", text)
    text = re.sub(r"\bsc0\b", "th:TH_ATOMIC_RETURN" if target.startswith("gfx12") else "glc", text)
    if target.startswith("gfx12"):
        text = re.sub(r"(buffer_\w+ .*s\[\d+:\d+\]), 0\b", r"\1, null", text)
    text = text.replace("0x27000", "0x30027000")  # a buffer's last word: the range of raw ones is checked
    text = _COMPARE_AND_STORE.sub(r"ds_cmpstore\1 \2\4, \3", text)  # the new value comes first on RDNA
    text = text.replace("row_newbcast", "row_share").replace("bound_ctrl:0", "bound_ctrl:1")
    return text.replace("vcc_lo", "vcc") if target.endswith("/64") else _in_waves_of_32(text)


_LANE_NUMBER = "v_mbcnt_lo_u32_b32 v22, -1, 0\nv_mbcnt_hi_u32_b32 v22, -1, v22\n"
_OF_BOTH_WAVES = "v_lshrrev_b32 v22, 2, v255\n"  # the frame keeps four times the number of the thread there


def _in_waves_of_32(text: str) -> str:
    text = re.sub(r"\bvcc\b", "vcc_lo", text.replace(_LANE_NUMBER, _OF_BOTH_WAVES))
    return text.replace("s_mov_b64 exec,", "s_mov_b32 exec_lo,")
