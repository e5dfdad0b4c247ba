// Kernels that mean harm, or would do it to a simpler emulator. Each has the line that is to blame (`//! VERDICT KIND`).
#include <hip/hip_runtime.h>

#define KERNEL(name) extern "C" __global__ void name(int* y, unsigned long n)
#define LANE threadIdx.x

KERNEL(loops_for_ever)
{
    volatile int* p = y;
    while (p[LANE] != 12345) //! timeout timeout
        p[LANE] = 1; //! timeout timeout
}

KERNEL(waits_at_a_barrier_that_others_never_reach)
{
    volatile int* p = y;
    if (LANE < 64)
        __syncthreads();
    else
        while (p[LANE] != 12345) //! timeout timeout
            p[LANE] = 1; //! timeout timeout
}

KERNEL(sleeps_until_a_flag_that_nobody_sets)
{
    if (LANE == 0)
        __hip_atomic_store(y, 0, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    while (__hip_atomic_load(y, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != 12345) //! timeout timeout
        __builtin_amdgcn_s_sleep(127);
}

// The lane that has the lock sleeps until the others have left the loop.
KERNEL(waits_for_a_lock_that_its_own_wave_has)
{
    __shared__ int lock;
    if (LANE == 0)
        lock = 0;
    __syncthreads();
    while (atomicCAS(&lock, 0, 1)) //! timeout timeout
        ;
    y[0] += 1;
    atomicExch(&lock, 0);
}

KERNEL(takes_two_thousand_million_workgroups) { y[LANE] = (int)n; } //! timeout timeout

// Which of its stores is the first beyond its private memory depends on the depth.
static __device__ __noinline__ int deeper(volatile int* p, int depth)
{ //! crashed out_of_bounds
    int own[32];
    for (int k = 0; k < 32; k++) //! crashed out_of_bounds
        own[k] = p[k] + depth; //! crashed out_of_bounds
    return deeper(p, depth + 1) + own[depth & 31];
}

KERNEL(calls_itself_for_ever) { y[LANE] = deeper(y, 0); }

KERNEL(stores_at_a_null_pointer)
{
    *(volatile int*)(n - n) = 1; //! crashed out_of_bounds
}

KERNEL(stores_over_all_of_the_address_space)
{
    for (unsigned long at = (1ul << 40) + 4096 * LANE; at < 1ul << 47; at += 1ul << 38)
        *(volatile int*)at = 1; //! crashed out_of_bounds
}

KERNEL(stores_far_behind_its_array)
{
    y[(1ul << 33) + LANE] = 1; //! crashed out_of_bounds
}

KERNEL(stores_where_programs_and_stacks_lie)
{
    const unsigned long guesses[] = {0x400000, 0x555555554000, 0x7ffff7fc0000, 0x7fffffffe000, 0x7f0000000000};
    for (unsigned k = 0; k < 5; k++)
        *(volatile int*)(guesses[(LANE + k) % 5] + (n & 0)) = 1; //! crashed out_of_bounds
}

KERNEL(stores_into_its_own_code)
{
    unsigned long here;
    asm volatile("s_getpc_b64 %0" : "=s"(here));
    *(volatile int*)here = 0; //! incorrect input_modified
}

KERNEL(stores_into_its_own_arguments)
{
    *(volatile int*)(void*)__builtin_amdgcn_kernarg_segment_ptr() = 0; //! ok input_modified
}

KERNEL(jumps_to_data)
{
    for (int k = 0; k < 64; k++)
        y[k] = 0x7e000280; // v_mov_b32 v0, 0
    asm volatile("s_setpc_b64 %0" ::"s"(y)); //! crashed crashed
}

KERNEL(jumps_into_the_middle_of_nowhere)
{
    asm volatile("s_setpc_b64 %0" ::"s"(0x1234567890ul)); //! crashed crashed
}

KERNEL(traps) { __builtin_trap(); } //! crashed crashed

KERNEL(halts)
{
    asm volatile("s_sethalt 1"); //! not_emulated not_emulated
    y[LANE] = 1;
}

KERNEL(makes_a_million_findings)
{
    int sum = 0;
    for (int k = 0; k < 4096; k++)
        sum += y[(LANE + k) % 64]; //! ok uninitialised_read
    y[LANE] = sum;
}
