/*
 * The names of what is counted in a dispatch: rocprof's where rocprof has such a counter, else ours in lower case.
 * amdkernel_mcp/profiling/metrics/emulator_counters.py gives unit, meaning and evidence of each one.
 */
#ifndef AMDKERNEL_MODEL_COUNTER_NAMES_H
#define AMDKERNEL_MODEL_COUNTER_NAMES_H

/* Exact: they follow from the instructions that ran, and are the same in every run. */
#define EXACT_COUNTERS(X) \
    X(SQ_WAVES) X(SQ_WAVES_EQ_64) X(SQ_WAVES_LT_64) X(SQ_WAVES_LT_48) X(SQ_WAVES_LT_32) X(SQ_WAVES_LT_16) X(SQ_ITEMS) \
    X(SQ_INSTS) X(SQ_WAVE32_INSTS) X(SQ_WAVE64_INSTS) X(SQ_INSTS_VALU) X(SQ_INSTS_SALU) X(SQ_INSTS_SMEM) X(SQ_INSTS_LDS) X(SQ_INSTS_VMEM) \
    X(SQ_INSTS_VMEM_RD) X(SQ_INSTS_VMEM_WR) X(SQ_INSTS_FLAT) X(SQ_INSTS_FLAT_LDS_ONLY) X(SQ_INSTS_MFMA) \
    X(SQ_INSTS_BRANCH) X(SQ_INSTS_SENDMSG) \
    X(SQ_INSTS_LDS_LOAD) X(SQ_INSTS_LDS_STORE) X(SQ_INSTS_LDS_ATOMIC) \
    X(SQ_INSTS_VALU_ADD_F16) X(SQ_INSTS_VALU_MUL_F16) X(SQ_INSTS_VALU_FMA_F16) X(SQ_INSTS_VALU_TRANS_F16) \
    X(SQ_INSTS_VALU_ADD_F32) X(SQ_INSTS_VALU_MUL_F32) X(SQ_INSTS_VALU_FMA_F32) X(SQ_INSTS_VALU_TRANS_F32) \
    X(SQ_INSTS_VALU_ADD_F64) X(SQ_INSTS_VALU_MUL_F64) X(SQ_INSTS_VALU_FMA_F64) X(SQ_INSTS_VALU_TRANS_F64) \
    X(SQ_INSTS_VALU_INT32) X(SQ_INSTS_VALU_INT64) X(SQ_INSTS_VALU_CVT) \
    X(SQ_INSTS_VALU_MFMA_F16) X(SQ_INSTS_VALU_MFMA_BF16) X(SQ_INSTS_VALU_MFMA_F32) X(SQ_INSTS_VALU_MFMA_F64) \
    X(SQ_INSTS_VALU_MFMA_I8) X(SQ_INSTS_VALU_MFMA_F8) X(SQ_INSTS_VALU_MFMA_XF32) X(SQ_INSTS_VALU_MFMA_F6F4) \
    X(SQ_INSTS_VALU_MFMA_MOPS_F16) X(SQ_INSTS_VALU_MFMA_MOPS_BF16) X(SQ_INSTS_VALU_MFMA_MOPS_F32) \
    X(SQ_INSTS_VALU_MFMA_MOPS_F64) X(SQ_INSTS_VALU_MFMA_MOPS_I8) X(SQ_INSTS_VALU_MFMA_MOPS_F8) \
    X(SQ_INSTS_VALU_MFMA_MOPS_XF32) X(SQ_INSTS_VALU_MFMA_MOPS_F6F4) \
    X(SQC_DCACHE_REQ) X(SQC_DCACHE_REQ_READ_1) X(SQC_DCACHE_REQ_READ_2) X(SQC_DCACHE_REQ_READ_4) \
    X(SQC_DCACHE_REQ_READ_8) X(SQC_DCACHE_REQ_READ_16) \
    X(TA_TOTAL_WAVEFRONTS_sum) X(TA_FLAT_WAVEFRONTS_sum) X(TA_FLAT_READ_WAVEFRONTS_sum) \
    X(TA_FLAT_WRITE_WAVEFRONTS_sum) X(TA_FLAT_ATOMIC_WAVEFRONTS_sum) X(TA_BUFFER_WAVEFRONTS_sum) \
    X(TA_BUFFER_READ_WAVEFRONTS_sum) X(TA_BUFFER_WRITE_WAVEFRONTS_sum) X(TA_BUFFER_ATOMIC_WAVEFRONTS_sum) \
    X(bytes_loaded) X(bytes_stored) X(bytes_atomic) X(scratch_bytes_loaded) X(scratch_bytes_stored) \
    X(scalar_bytes_loaded) X(lds_bytes) X(barriers) X(waits) X(branches_taken) X(branches_divergent) \
    X(active_lanes_valu)

/* One cycle an instruction: what the hardware takes, as long as no instruction takes several passes. */
#define LANE_COUNTERS(X) X(SQ_THREAD_CYCLES_VALU)

/* Of the waits, those after a read: which one a wait is for follows from the order of the code, not from its operand. */
#define WAIT_COUNTERS(X) X(waits_for_memory) X(waits_for_lds) X(waits_for_scalars)

/* The largest of all waves. A wave that polls runs for as long as the others need, so this one is modelled. */
#define LONGEST_COUNTERS(X) X(longest_wave_insts)

/* A model of addresses, with the option `memory`. */
#define MEMORY_COUNTERS(X) \
    X(SQ_LDS_BANK_CONFLICT) X(SQ_LDS_ADDR_CONFLICT) X(SQ_LDS_IDX_ACTIVE) X(lds_misaligned_lanes) \
    X(SQC_DCACHE_HITS) X(SQC_DCACHE_MISSES) \
    X(TCP_TOTAL_ACCESSES_sum) X(TCP_TOTAL_READ_sum) X(TCP_TOTAL_WRITE_sum) X(TCP_TOTAL_CACHE_ACCESSES_sum) \
    X(TCP_TCC_READ_REQ_sum) X(TCP_TCC_WRITE_REQ_sum) X(TCP_TCC_ATOMIC_WITH_RET_REQ_sum) \
    X(TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum) \
    X(TCC_REQ_sum) X(TCC_READ_sum) X(TCC_WRITE_sum) X(TCC_ATOMIC_sum) X(TCC_HIT_sum) X(TCC_MISS_sum) \
    X(TCC_BUBBLE_sum) X(TCC_EA0_RDREQ_sum) X(TCC_EA0_WRREQ_sum) X(TCC_EA0_WRREQ_64B_sum) \
    X(cache_lines_loaded) X(cache_lines_stored) X(l1_line_hits) X(gl1_hits) X(gl1_misses) X(mall_hits) X(mall_misses) X(reads_across_xcds) \
    X(memory_bytes_read) X(memory_bytes_written) \
    X(longest_wave_accesses) X(atomics_on_one_line) X(busiest_channel_requests)

/* Clocks of the unit with most workgroups, as a simulation has them; then without what each name says. With the options
 * `memory` and `pcs`; 0: it was not simulated. */
#define SIMULATION_COUNTERS(X) \
    X(simulated_cus) X(simulated_groups_at_once) X(simulated_clocks) X(simulated_clocks_without_latency) X(simulated_clocks_without_lds_conflicts) \
    X(simulated_clocks_without_lds) X(simulated_clocks_without_barriers) \
    X(simulated_clocks_without_scattered_lines) X(simulated_clocks_without_vector) \
    X(simulated_clocks_without_matrix) X(simulated_clocks_loads_earlier) X(simulated_clocks_full_matrix_rate) \
    X(simulated_clocks_all_in_l1) X(simulated_clocks_one_l2) X(simulated_clocks_twice_the_waves)

/* Of a mean SIMD of that unit: what its clocks went to. They add up to simulated_clocks. */
#define SLOT_COUNTERS(X) \
    X(slots_vector) X(slots_matrix) X(slots_scalar) X(slots_lds) X(slots_memory) X(slots_other) \
    X(slots_wait_l1) X(slots_wait_l2) X(slots_wait_infinity_cache) X(slots_wait_memory) X(slots_wait_stores) \
    X(slots_wait_scalar_loads) X(slots_wait_lds) X(slots_wait_address_unit) X(slots_wait_results) X(slots_wait_vector_pipe) \
    X(slots_wait_matrix_pipe) X(slots_wait_barriers) X(slots_wait_fetch) X(slots_nothing_to_run)

#define EMULATOR_COUNTERS(X) \
    EXACT_COUNTERS(X) LANE_COUNTERS(X) WAIT_COUNTERS(X) LONGEST_COUNTERS(X) MEMORY_COUNTERS(X) SIMULATION_COUNTERS(X) \
    SLOT_COUNTERS(X)

enum {
#define X(name) COUNTER_##name,
    EMULATOR_COUNTERS(X)
#undef X
    COUNTER_COUNT,
    FIRST_MEMORY_COUNTER = COUNTER_SQ_LDS_BANK_CONFLICT,
    FIRST_SIMULATION_COUNTER = COUNTER_simulated_cus,
};

#endif
