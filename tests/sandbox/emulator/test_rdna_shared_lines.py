"""What RDNA shares with CDNA, in RDNA's words: the tables and checks of the other modules, in waves of 32 and of 64 lanes.

Lines that look at other lanes run in waves of 64 only: in waves of 32 two waves stand for one of 64.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import test_atomics
import test_division_and_dots
import test_lane_exchange
import test_lds
import test_loads_and_stores
import test_narrow_floats
import test_sop
import test_valu_f32
import test_valu_f64_f16
import test_valu_int
import test_vopc
from lanes import Case, Lines
from rdna_names import renamed
from values import both_masks, prepared
from waves import ALL, SOME, State, run_waves

from amdkernel_mcp.execution.sandbox import Sandbox
from tests.rows import check_all, of_one_row

pytestmark = pytest.mark.sandbox

Pairs = dict[str, list[tuple[State, State]]]
WIDE = ("gfx1100/64", "gfx1201/64")
TARGETS = ("gfx1100", "gfx1201", *WIDE)
# The gate takes each architecture and each wave size once.
BY_TARGET = [
    pytest.param(target, marks=[pytest.mark.thorough] * (target in ("gfx1201", "gfx1100/64"))) for target in TARGETS
]
# What only CDNA has: SDWA, accumulators, packed f32, whole-wave DPP, unfused products and related ones.
GONE = re.compile(
    r"_sdwa|accvgpr|v_pk_(add|mul|fma|mov)_[fb]32|v_mov_b64|v_lshl_add_u64|v_fmac_f64|v_dot2_[iu]32|v_dot[248]c_i32|"
    r"v_pk_m\w+3_f16|v_ma[cd]_f|v_mad[am]k_f|_legacy_[fiu]16|v_mad_legacy|v_cvt_pkaccum|v_subrev_u16|wave_|row_bcast|s_mem(real)?time|"
    r"s_ff0|scalef32|v_prng|v_bitop3|v_permlane(16|32)_swap|s_set_gpr_idx|v_cvt_scale|s_cbranch_|s_bitreplicate|s_branch|"
    r"v_dot4_i32_i8|v_dot8_i32_i4|s_getpc|s_call|ds_condxchg|fmt|v_qsad|ds_bpermute|ds_permute|row_shl:0|v_minimum3|v_maximum3|s_setprio|"
    r"v_cvt_pk_f32_|v_cvt_f32_[fb]|v_cvt_sr_|v_cvt_pk_[fb][pf]8|v_exp_legacy|v_dot2_f32_bf16|v_dot2c_f32_bf16|v_screen_part|v_cvt_pk_bf16|v_sat_pk"
)
GONE_IN_WAVES_OF_32 = re.compile(r"vcc_hi|v_mbcnt")
GONE_GFX12 = re.compile(r"s_cmpk_|v_dot2c_f32_f16")


def exists(line: str, target: str) -> bool:
    return (
        not GONE.search(line)
        and not (target.startswith("gfx12") and GONE_GFX12.search(line))
        and (target in WIDE or not GONE_IN_WAVES_OF_32.search(line))
    )


def cases_of(module: ModuleType) -> Iterator[Case]:
    for name, value in vars(module).items():
        if name.isupper() and isinstance(value, list):
            yield from (case for case in value if isinstance(case, Case))


LANE_MODULES = (test_valu_f32, test_valu_f64_f16, test_valu_int, test_division_and_dots, test_narrow_floats)
LANE_CASES = {
    target: [case for module in LANE_MODULES for case in cases_of(module) if exists(case.line, target)]
    + [case for case in cases_of(test_lane_exchange) if exists(case.line, target) and target in WIDE]
    for target in TARGETS
}
LANE_LINES = {target: [renamed(case.line, target) for case in cases] for target, cases in LANE_CASES.items()}


def check(lines: Lines, case: Case) -> None:
    if case in test_valu_f64_f16.PACKED_FLOATS:
        of_one_row(test_valu_f64_f16.test_packed_halves_are_computed_side_by_side)(lines, case)
    else:
        lines.check(case)


@pytest.mark.thorough
@pytest.mark.parametrize("target", BY_TARGET)
def test_lines_of_one_value_for_each_lane(sandbox: Sandbox, target: str) -> None:
    cases = LANE_CASES[target]
    assert len(cases) > 400
    lines = Lines(sandbox, cases, target)
    check_all((case.line, lambda case=case: check(lines, case)) for case in cases)


# ---- atomics, loads and stores ----


def atomic_cases(target: str) -> list[test_atomics.Case]:
    """gfx12 has packed additions, but neither f64 ones nor a plain compare of floats in LDS; both lack f64 in memory."""
    found = []
    for case in test_atomics.CASES:
        in_lds, wide_float = case.name.startswith("ds_"), case.fold.startswith("f") and case.bytes == 8
        missing = wide_float and (not in_lds or case.fold == "fadd")
        missing |= case.fold.startswith("pk") and target.startswith("gfx11")
        missing |= case.fold in ("fcmpswap", "wrap") and target.startswith("gfx12")
        if not missing:
            found.append(case)
    return [*found, *atomics_of_rdna(target)]


def atomics_of_rdna(target: str) -> list[test_atomics.Case]:
    names = [("csub_u32", "csub"), ("min_f32", "fmin"), ("max_f32", "fmax"), ("cmpswap_f32", "fcmpswap")]
    if target.startswith("gfx12"):
        names = [
            ("sub_clamp_u32", "csub"),
            ("cond_sub_u32", "cond_sub"),
            ("min_num_f32", "fmin_num"),
            ("max_num_f32", "fmax_num"),
        ]
    cases = [
        test_atomics.memory_case(segment, name, fold, 4, returns)
        for segment in ("global", "flat", "buffer")
        for name, fold in names
        for returns in (False, True)
        if returns or fold != "csub"
        if (segment, name) != ("flat", "csub_u32")
    ]
    if target.startswith("gfx12"):
        cases += [
            test_atomics.lds_case(test_atomics.lds_name(name, returns), fold, 4, returns)
            for name, fold in names[:2]
            for returns in (False, True)
        ]
    return cases


ATOMICS = {target: [(case, renamed(case.line, target)) for case in atomic_cases(target)] for target in TARGETS}


@pytest.mark.thorough
@pytest.mark.parametrize("target", BY_TARGET)
def test_atomics_of_every_segment(sandbox: Sandbox, target: str) -> None:
    given = [(line, test_atomics.state(mask)) for _, line in ATOMICS[target] for mask in (ALL, SOME)]
    after = iter(run_waves(sandbox, given, target))
    results: Pairs = {
        case.line: [(test_atomics.state(m), next(after)) for m in (ALL, SOME)] for case, _ in ATOMICS[target]
    }
    check = of_one_row(test_atomics.test_an_atomic_leaves_the_new_value_and_returns_the_old_one)
    check_all((case.name, lambda case=case: check(results, case)) for case, _ in ATOMICS[target])


EXCHANGES = [renamed(line, "gfx1100/64") for line in test_atomics.EXCHANGES]
BY_M0 = ["ds_store_addtid_b32 v10 offset:4", "ds_load_addtid_b32 v20 offset:4"]


@pytest.mark.parametrize("target", [pytest.param(WIDE[0], marks=pytest.mark.thorough), WIDE[1]])
def test_words_of_lds_are_exchanged_and_found_by_m0(
    sandbox: Sandbox, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(sandbox: Sandbox, given: list[tuple[str, State]]) -> list[State]:
        return run_waves(sandbox, [(renamed(line, target), state) for line, state in given], target)

    monkeypatch.setattr(test_atomics, "run_waves", run)
    for line in test_atomics.EXCHANGES:
        test_atomics.test_two_words_are_exchanged_at_once(sandbox, line)
    test_atomics.test_lanes_find_their_own_words_by_m0(sandbox)


def accesses(target: str) -> list[tuple[test_loads_and_stores.Case, str]]:
    cases = [*test_loads_and_stores.LOAD_CASES, *test_loads_and_stores.STORE_CASES]
    return [(case, renamed(case.line, target)) for case in cases]


ACCESSES = {target: accesses(target) for target in TARGETS}


@pytest.mark.parametrize("target", BY_TARGET)
def test_loads_and_stores_of_every_segment(sandbox: Sandbox, target: str) -> None:
    memory = test_loads_and_stores.MEMORY.tobytes()
    states = [replace(prepared(exec_mask=mask), memory=memory) for mask in (ALL, SOME)]
    after = iter(run_waves(sandbox, [(line, state) for _, line in ACCESSES[target] for state in states], target))
    results: Pairs = {case.line: [(state, next(after)) for state in states] for case, _ in ACCESSES[target]}
    faults = {line: pair[1].fault for line, pairs in results.items() for pair in pairs if pair[1].fault}
    assert not faults
    load = partial(test_loads_and_stores.check_load, keeps_half=True)
    store = of_one_row(test_loads_and_stores.test_a_store_writes_the_bytes_of_active_lanes)
    loads = len(test_loads_and_stores.LOAD_CASES)
    check_all(
        (line, lambda case=case, n=n: (load if n < loads else store)(results, case))
        for n, (case, line) in enumerate(ACCESSES[target])
    )


# ---- LDS ----

LDS_READS = {
    target: [renamed(f"{test_lds.FILL}{line}\ns_waitcnt 0", target) for line, *_ in test_lds.READS] for target in WIDE
}
LDS_WRITES = {
    target: [renamed(f"{test_lds.FILL}{line}{test_lds.DUMP}", target) for line, _ in test_lds.WRITES] for target in WIDE
}


@pytest.mark.parametrize("target", [pytest.param(WIDE[0], marks=pytest.mark.thorough), WIDE[1]])
def test_reads_and_writes_of_lds(sandbox: Sandbox, target: str) -> None:
    reads, writes = (test_lds.run(sandbox, lines[target], target) for lines in (LDS_READS, LDS_WRITES))
    check_all(
        (line, lambda n=n: test_lds.check_read(reads, n, keeps_half=True)) for n, line in enumerate(LDS_READS[target])
    )
    check_write = of_one_row(test_lds.test_a_write_changes_the_bytes_of_active_lanes)
    check_all((line, lambda n=n: check_write(writes, n)) for n, line in enumerate(LDS_WRITES[target]))


# ---- compares: their mask is one register in waves of 32, and v_cmpx has none but EXEC ----


def compare(line: str, target: str) -> str:
    line = re.sub(r"(v_cmpx\w+) (s\[10:11\]|vcc|vcc_lo),", r"\1", renamed(line, target))
    return line if target in WIDE else line.replace("s[10:11]", "vcc_lo")


def compares_of(target: str) -> list[str]:
    kinds = [kind for kind in test_vopc.SOURCES if not (target.startswith("gfx12") and kind == "never")]
    always = re.compile(r"_(f|t|tru)_" if target.startswith("gfx12") else r"_(f|t|tru)_[iu]16")
    return [line for line in test_vopc.LINES if kinds and not always.search(line)]


COMPARES = {target: [(line, compare(line, target)) for line in compares_of(target)] for target in TARGETS}


def with_mask(line: str, target: str, after: State) -> State:
    """s[10:11] of the state as if the line had written it."""
    mask = after.exec if "cmpx" in line else after.vcc
    if "cmpx" in line or target not in WIDE:
        after.s[6], after.s[7] = mask & 0xFFFFFFFF, mask >> 32
    return after


@pytest.mark.parametrize("target", BY_TARGET)
def test_compares_of_every_kind(sandbox: Sandbox, target: str) -> None:
    given = [(line, state) for _, line in COMPARES[target] for state in both_masks()]
    after = iter(run_waves(sandbox, given, target))
    results: Pairs = {
        line: [(s, with_mask(line, target, next(after))) for s in both_masks()] for line, _ in COMPARES[target]
    }
    checks = []
    for relation, kind in test_vopc.COMPARES:
        for prefix, check in (
            ("v_cmp", of_one_row(test_vopc.test_a_compare_sets_the_bits_of_active_lanes_for_which_it_holds)),
            ("v_cmpx", of_one_row(test_vopc.test_cmpx_writes_exec_as_well)),
        ):
            line = test_vopc.line(relation, kind, prefix)
            if line in results:
                checks.append((line, lambda check=check, r=relation, k=kind: check(results, r, k)))
    of_classes = of_one_row(test_vopc.test_class_looks_up_what_kind_of_number_a_value_is)
    checks += [(kind, lambda kind=kind: of_classes(results, kind)) for kind in test_vopc.CLASSES]
    assert len(checks) > 130
    check_all(checks)


# ---- scalars ----

SCALARS = {
    target: [
        (case, renamed(case.line, target))
        for case in test_sop.CASES
        if exists(case.line, target) and "vcc" not in case.line and "exec" not in case.line
    ]
    for target in TARGETS
}


@pytest.mark.parametrize("target", BY_TARGET)
def test_scalar_lines(sandbox: Sandbox, target: str) -> None:
    given = [(line, test_sop.state(case)) for case, line in SCALARS[target]]
    after = run_waves(sandbox, given, target)
    number = {case.line: n for n, case in enumerate(test_sop.CASES)}
    results: list[Any] = [None] * len(test_sop.CASES)
    for (case, _), state in zip(SCALARS[target], after, strict=True):
        results[number[case.line]] = state
    check = of_one_row(test_sop.test_scalar_results_and_scc)
    check_all((line, lambda case=case: check(results, number[case.line])) for case, line in SCALARS[target])


SAVES = [renamed(line, "gfx1100/64") for line in (*test_sop.SAVE_LINES, *test_sop.WRITE_LINES)]
SAVES_OF_32 = [line.replace("_b64 s[10:11], s[4:5]", "_b32 s10, s4") for line in SAVES]


@pytest.mark.parametrize("target", BY_TARGET)
def test_exec_is_saved_and_narrowed(sandbox: Sandbox, target: str) -> None:
    wide = target in WIDE
    after = run_waves(sandbox, [(line, prepared(exec_mask=SOME)) for line in (SAVES if wide else SAVES_OF_32)], target)
    bits = ALL if wide else 0xFFFFFFFF  # of the first wave
    for line, state, narrow in zip(
        SAVES, after, [*test_sop.SAVES.values(), test_sop.SAVES["andn1"], test_sop.SAVES["andn2"]], strict=True
    ):
        assert not state.fault, state.fault
        narrowed = narrow(test_sop.PAIR, SOME) & bits
        saved = (int(state.s[6]) | int(state.s[7]) << 32) & bits
        assert state.exec & bits == narrowed, line
        assert saved == (narrowed if "wrexec" in line else SOME & bits), line
        assert state.scc == (narrowed != 0), line


NO_EFFECT = {
    target: [
        "s_nop 3", "s_dcache_inv", "s_icache_inv", "s_incperflevel 1", "s_decperflevel 1", "s_setprio 2", "s_sethalt 0", "s_sleep 1",
        "s_ttracedata", "s_ttracedata_imm 1", "v_nop", "ds_nop", "s_clause 0x1", "s_delay_alu instid0(VALU_DEP_1)", "s_code_end",
        "s_wait_idle", "s_version 1", "s_sendmsg sendmsg(MSG_INTERRUPT)", "s_wait_event 1", "v_pipeflush",
        *(["s_waitcnt vmcnt(0)", "s_waitcnt_depctr 0xfff", "s_waitcnt_expcnt null, 0x0", "s_waitcnt_lgkmcnt null, 0x0",
           "s_waitcnt_vmcnt null, 0x0", "s_waitcnt_vscnt null, 0x0", "s_gl1_inv", "buffer_gl0_inv", "buffer_gl1_inv",
           "s_set_inst_prefetch_distance 0x1", "s_barrier", "s_wakeup"] if target.startswith("gfx11") else
          ["s_wait_alu 0xfffd", "s_wait_bvhcnt 0x0", "s_wait_dscnt 0x0", "s_wait_expcnt 0x0", "s_wait_kmcnt 0x0", "s_wait_loadcnt 0x0",
           "s_wait_loadcnt_dscnt 0x0", "s_wait_samplecnt 0x0", "s_wait_storecnt 0x0", "s_wait_storecnt_dscnt 0x0", "s_sleep_var s6",
           "global_inv scope:SCOPE_DEV", "global_wb scope:SCOPE_DEV", "global_wbinv scope:SCOPE_DEV", "s_prefetch_inst s[20:21], 0x0, null, 0",
           "s_prefetch_inst_pc_rel 0x0, null, 0", "s_prefetch_data s[20:21], 0x0, null, 0", "s_prefetch_data_pc_rel 0x0, null, 0",
           "s_buffer_prefetch_data s[20:23], 0x0, null, 0"]),
    ]
    for target in TARGETS
}  # fmt: skip


@pytest.mark.parametrize("target", BY_TARGET)
def test_hints_change_no_register(sandbox: Sandbox, target: str) -> None:
    before = prepared(exec_mask=SOME, scc=1)
    for line, after in zip(
        NO_EFFECT[target], run_waves(sandbox, [(line, before) for line in NO_EFFECT[target]], target), strict=True
    ):
        assert not after.fault, after.fault
        assert np.array_equal(after.v[:32], before.v), line
        assert np.array_equal(after.s, before.s), line
        assert (after.exec, after.vcc, after.scc, after.m0) == (SOME, before.vcc, 1, before.m0), line
