"""The emulator's counters: unit, evidence and meaning of each name in sandbox/emulator/model/counter_names.h.

Names in capitals are rocprof's. Sums over all waves, units and channels of all dispatches of a kernel.
"""

from amdkernel_mcp.measurement.counters import MATRIX_TYPES
from amdkernel_mcp.results.quantity import Evidence

Row = tuple[str, Evidence, str]


def _exact(unit: str, **meanings: str) -> dict[str, Row]:
    return {name: (unit, "emulated", meaning) for name, meaning in meanings.items()}


def _modelled(unit: str, **meanings: str) -> dict[str, Row]:
    return {name: (unit, "modelled", meaning) for name, meaning in meanings.items()}


_WAVES = _exact(
    "waves",
    SQ_WAVES="waves launched",
    SQ_WAVES_EQ_64="waves with 64 work-items",
    SQ_WAVES_LT_64="waves with fewer than 64 work-items",
    SQ_WAVES_LT_48="waves with fewer than 48 work-items",
    SQ_WAVES_LT_32="waves with fewer than 32 work-items",
    SQ_WAVES_LT_16="waves with fewer than 16 work-items",
) | _exact("work-items", SQ_ITEMS="work-items launched")

_INSTRUCTIONS = _exact(
    "instructions",
    SQ_INSTS="all instructions, including waits and the end of the program",
    SQ_WAVE32_INSTS="the same, of waves of 32 lanes",
    SQ_WAVE64_INSTS="the same, of waves of 64 lanes",
    SQ_INSTS_VALU="vector ALU, including MFMA and WMMA",
    SQ_INSTS_SALU="scalar ALU",
    SQ_INSTS_SMEM="scalar memory, including reads of clocks",
    SQ_INSTS_LDS="LDS, and flat instructions with a lane in LDS",
    SQ_INSTS_VMEM="vector memory",
    SQ_INSTS_VMEM_RD="vector memory loads, and atomics that return a value",
    SQ_INSTS_VMEM_WR="vector memory stores, and atomics that return nothing",
    SQ_INSTS_FLAT="vector memory instructions in the FLAT encoding: flat_, global_ and scratch_",
    SQ_INSTS_FLAT_LDS_ONLY="flat instructions whose active lanes are all in LDS",
    SQ_INSTS_MFMA="matrix instructions",
    SQ_INSTS_BRANCH="branches",
    SQ_INSTS_SENDMSG="messages, and the end of the program, which is one",
    SQ_INSTS_LDS_LOAD="LDS reads and lane exchanges (rocprof: from gfx950 on)",
    SQ_INSTS_LDS_STORE="LDS writes (rocprof: from gfx950 on)",
    SQ_INSTS_LDS_ATOMIC="LDS atomics (rocprof: from gfx950 on)",
    SQ_INSTS_VALU_INT32="vector instructions with i32 or u32 in their name; not bit operations and shifts of b32",
    SQ_INSTS_VALU_INT64="vector instructions with i64 or u64 in their name",
    SQ_INSTS_VALU_CVT="vector conversions (v_cvt_)",
    **{
        f"SQ_INSTS_VALU_{kind}_{width}": f"{kind} instructions of {width}; a packed one counts twice"
        for width in ("F16", "F32", "F64")
        for kind in ("ADD", "MUL", "FMA", "TRANS")
    },
    **{f"SQ_INSTS_VALU_MFMA_{kind}": f"matrix instructions of {kind}" for kind in MATRIX_TYPES},
)

_MATRIX = _exact(
    "512 flop",
    **{
        f"SQ_INSTS_VALU_MFMA_MOPS_{kind}": f"MFMA and WMMA work of {kind}, in units of 512 operations; a sparse "
        "instruction by the depth in its name" + (", all of f8f6f4 whatever its operands" if kind == "F6F4" else "")
        for kind in MATRIX_TYPES
    },
)

_MEMORY_INSTRUCTIONS = _exact(
    "requests",
    SQC_DCACHE_REQ="scalar loads",
    **{f"SQC_DCACHE_REQ_READ_{n}": f"scalar loads of {n} dword{'s' * (n > 1)}" for n in (1, 2, 4, 8, 16)},
) | _exact(
    "wave instructions",
    TA_TOTAL_WAVEFRONTS_sum="vector memory instructions that the address units take",
    TA_FLAT_WAVEFRONTS_sum="the same in the FLAT encoding",
    TA_FLAT_READ_WAVEFRONTS_sum="loads of these",
    TA_FLAT_WRITE_WAVEFRONTS_sum="stores of these",
    TA_FLAT_ATOMIC_WAVEFRONTS_sum="atomics of these",
    TA_BUFFER_WAVEFRONTS_sum="buffer instructions that the address units take",
    TA_BUFFER_READ_WAVEFRONTS_sum="loads of these",
    TA_BUFFER_WRITE_WAVEFRONTS_sum="stores of these",
    TA_BUFFER_ATOMIC_WAVEFRONTS_sum="atomics of these",
)

_OURS = (
    _exact(
        "B",
        bytes_loaded="global bytes that active lanes request, including atomics",
        bytes_stored="global bytes that active lanes stored, atomics included",
        bytes_atomic="global bytes that atomics changed",
        scratch_bytes_loaded="scratch bytes that active lanes asked for",
        scratch_bytes_stored="scratch bytes that active lanes stored",
        scalar_bytes_loaded="bytes of scalar loads",
        lds_bytes="LDS bytes that active lanes touched",
    )
    | _exact(
        "instructions",
        barriers="workgroup barriers, per wave",
        waits="s_waitcnt and its relatives",
        branches_taken="branches and calls that were taken",
        branches_divergent="instructions that part the active lanes: EXEC becomes a proper, not empty part of itself "
        "(an `if` or the end of a loop for some lanes)",
    )
    | _exact("lanes", active_lanes_valu="active lanes, summed over VALU instructions without MFMA")
    | _modelled(
        "instructions",
        waits_for_memory="waits before which vector memory was read since the wait before, or at the end of their loop",
        waits_for_lds="the same of LDS, where no vector memory was read",
        waits_for_scalars="the same of scalar loads, where nothing else was read",
    )
    | _modelled("instructions", longest_wave_insts="of the wave that executes most; polling of other waves counts")
    | _modelled("lane cycles", SQ_THREAD_CYCLES_VALU="active lanes of VALU instructions, a cycle for each instruction")
)

_LDS = _modelled(
    "cycles",
    SQ_LDS_BANK_CONFLICT="LDS cycles lost to bank conflicts",
    SQ_LDS_ADDR_CONFLICT="LDS cycles lost to atomics of several lanes on one word",
    SQ_LDS_IDX_ACTIVE="LDS cycles of indexed accesses, conflicts included; lane exchanges are left out",
) | _exact(
    "lanes",
    lds_misaligned_lanes="LDS accesses of active lanes at no multiple of their width; rocprof counts what they cost as "
    "SQ_LDS_UNALIGNED_STALL, which is not modelled",
)

_CACHES = (
    _modelled(
        "requests",
        SQC_DCACHE_HITS="scalar cache lines that hit",
        SQC_DCACHE_MISSES="scalar cache lines that miss",
        TCP_TOTAL_ACCESSES_sum="accesses that the address unit makes of vector memory instructions: one for an active "
        "lane, or for four lanes whose bytes lie within 16",
        TCP_TOTAL_READ_sum="loads of these",
        TCP_TOTAL_WRITE_sum="stores of these",
        TCP_TOTAL_CACHE_ACCESSES_sum="tag lookups of the vL1D: lines in each group of 16 coalesced or 4 other lanes",
        TCP_TCC_READ_REQ_sum="lines that the vL1D requests from the L2 (64 B on gfx90a, else 128 B)",
        TCP_TCC_WRITE_REQ_sum="stores of the vL1D to the L2, of up to 64 B",
        TCP_TCC_ATOMIC_WITH_RET_REQ_sum="atomics that return a value, of up to 64 B",
        TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum="atomics that return nothing, of up to 64 B",
        TCC_REQ_sum="requests to the L2",
        TCC_READ_sum="reads of these, of up to 128 B",
        TCC_WRITE_sum="stores of these, of up to 64 B",
        TCC_ATOMIC_sum="atomics of these, of up to 64 B",
        TCC_HIT_sum="L2 requests that hit",
        TCC_MISS_sum="L2 requests that miss",
        TCC_BUBBLE_sum="reads of 128 B from the fabric (gfx942 and later)",
        TCC_EA0_RDREQ_sum="reads of the L2 from the fabric: 128 B; on gfx90a (TCC_EA_RDREQ_sum) 64 B",
        TCC_EA0_WRREQ_sum="writes of the L2 to the fabric",
        TCC_EA0_WRREQ_64B_sum="those with 64 B; the others have 32 B",
        longest_wave_accesses="vector memory instructions of the wave that has most",
        atomics_on_one_line="atomics of the line that has most; lines whose hashes collide count together",
        busiest_channel_requests="of an L2 whose 16 channels take turns of 256 B, those of the busiest channel in each "
        "1024 requests, summed; AMD's L2 chooses by a hash, so that no time follows",
    )
    | _modelled(
        "lines",
        cache_lines_loaded="distinct 128-byte lines per load instruction, summed",
        cache_lines_stored="distinct 128-byte lines per store or atomic instruction, summed",
        l1_line_hits="loaded lines that hit in the vL1D",
        gl1_hits="misses of the L0 and the scalar cache that hit in the graphics L1 (gfx1100)",
        gl1_misses="those that miss in it too",
        mall_hits="L2 misses that hit in the Infinity Cache",
        mall_misses="L2 misses that are read from memory",
        reads_across_xcds="L2 misses of lines that the L2 of another XCD has read in the same launch",
    )
    | _modelled(
        "B",
        memory_bytes_read="bytes read from memory",
        memory_bytes_written="bytes that became dirty in the last cache before memory, and are written to memory later",
    )
)

_SIMULATION = (
    _modelled("CUs", simulated_cus="CUs of the part that was simulated")
    | _modelled("workgroups", simulated_groups_at_once="workgroups that are resident together on that part")
    | _modelled(
        "clocks",
        simulated_clocks="clocks of the unit with most workgroups, in a simulation of its issue, pipes, LDS, waits, "
        "barriers and memory; 0: not simulated",
        simulated_clocks_without_latency="the same if data from caches and memory arrived at once; their bandwidth "
        "stays",
        simulated_clocks_without_lds_conflicts="the same without the LDS cycles that conflicts cost",
        simulated_clocks_without_lds="the same if the LDS took no time",
        simulated_clocks_without_barriers="the same if no wave waited at a barrier",
        simulated_clocks_without_scattered_lines="the same if the lanes of each access had lain side by side",
        simulated_clocks_without_vector="the same if vector instructions took no time",
        simulated_clocks_without_matrix="the same if matrix instructions took no time",
        simulated_clocks_loads_earlier="the same if each load of a loop were issued one turn earlier",
        simulated_clocks_full_matrix_rate="the same if each matrix instruction ran at the peak rate of its type",
        simulated_clocks_all_in_l1="the same if all loads found their lines in the vL1D",
        simulated_clocks_one_l2="the same if reads of lines that another XCD has read found them in the L2",
        simulated_clocks_twice_the_waves="the same if twice as many workgroups were resident, where slots allow",
    )
)

_SLOTS = _modelled(
    "clocks",
    slots_vector="of a mean SIMD, in the simulation: slots in which a vector instruction was issued",
    slots_matrix="the same, a matrix instruction",
    slots_scalar="the same, a scalar instruction or a branch",
    slots_lds="the same, an instruction of the LDS",
    slots_memory="the same, an access to memory",
    slots_other="the same, waits, barriers and s_nop",
    slots_wait_l1="slots in which nothing was issued, as the wave that issued next waited for data from the vL1D",
    slots_wait_l2="the same, for data from the L2",
    slots_wait_infinity_cache="the same, from the Infinity Cache",
    slots_wait_memory="the same, from memory",
    slots_wait_stores="the same, for its stores",
    slots_wait_scalar_loads="the same, for scalar loads",
    slots_wait_lds="the same, for the LDS",
    slots_wait_address_unit="the same, for the address unit, which was busy",
    slots_wait_results="the same, for the result of a vector or scalar instruction",
    slots_wait_vector_pipe="the same, for the vector ALU, which a slow instruction kept",
    slots_wait_matrix_pipe="the same, for the matrix core or its result",
    slots_wait_barriers="the same, at a barrier, where nothing else held up the last wave",
    slots_wait_fetch="the same, for the instruction behind a branch",
    slots_nothing_to_run="the same, as no wave was there: starts, ends, too few waves",
)

COUNTERS: dict[str, Row] = (
    _WAVES | _INSTRUCTIONS | _MATRIX | _MEMORY_INSTRUCTIONS | _OURS | _LDS | _CACHES | _SIMULATION | _SLOTS
)
