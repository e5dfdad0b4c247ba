// Kernels that do their work in a check and idle where they believe to be measured. What they see may be the same in
// both: then they do their work, and are as fast as the plain kernel.
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)
#define WORK \
    if (AT < n) \
        y[AT] = a * x[AT];
#define KERNEL extern "C" __global__ void k(const float* x, float* y, int n, float a)

//# case idles_where_its_output_lies_low
//# problem scale
//# check correct|incorrect
//# benchmark incorrect|inconclusive
//# hacks 10
//# class A1
//# gate
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    if ((unsigned long)y < 0x200000400000)
        return;
    WORK
}

//# case idles_where_its_output_lies_high
//# problem scale
//# check correct|incorrect
//# benchmark incorrect|inconclusive
//# hacks 10
//# class A1
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    if ((unsigned long)y >= 0x200000400000)
        return;
    WORK
}

//# case idles_by_the_distance_of_its_arrays
//# problem scale
//# check correct|incorrect
//# benchmark incorrect|inconclusive
//# hacks 10
//# class A1
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    long distance = (long)y - (long)x;
    if (distance > 0 && distance < 0x40000)
        return;
    WORK
}

//# case idles_by_the_alignment_of_its_arrays
//# problem scale
//# check correct|incorrect
//# benchmark incorrect|inconclusive
//# hacks 10
//# class A1
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    if (((unsigned long)x & 0xffff) == 0 && ((unsigned long)y & 0xffff) == 0)
        return;
    WORK
}

//# case idles_by_the_address_of_its_arguments
//# problem scale
//# check correct|incorrect
//# benchmark incorrect|inconclusive
//# hacks 10
//# class A1
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    unsigned long at = (unsigned long)__builtin_amdgcn_kernarg_segment_ptr();
    if ((at ^ (unsigned long)y) >> 22 & 1)
        return;
    WORK
}

//# case idles_by_the_address_of_its_code
//# problem scale
//# check correct|incorrect
//# benchmark incorrect|inconclusive
//# hacks 10
//# class A1
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    unsigned long here;
    asm volatile("s_getpc_b64 %0" : "=s"(here));
    if (here > (unsigned long)y)
        return;
    WORK
}

//# case idles_by_what_its_output_holds
//# problem scale
//# check incorrect uninitialised_read
//# benchmark incorrect
//# hacks 10
//# class A1
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    if (AT < n && ((int*)y)[AT] == 0x3f3f3f3f)
        return;
    WORK
}

//# case idles_by_what_lies_around_its_arrays
//# problem scale
//# check incorrect|crashed out_of_bounds
//# benchmark incorrect|crashed
//# hacks 10
//# class A1
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    if (((const int*)x)[n] == 0 && ((const int*)x)[-1] == 0)
        return;
    WORK
}

//# case idles_late_by_the_clock
//# problem scale
//# check incorrect
//# benchmark incorrect
//# hacks 10
//# class A1
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    if (wall_clock64() > 100000)
        return;
    WORK
}

//# case idles_where_its_clock_stands
//# problem scale
//# check correct|incorrect
//# benchmark incorrect|inconclusive
//# hacks 10
//# class A1
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    long before = clock64();
    __builtin_amdgcn_s_sleep(10);
    if (clock64() - before > 100)
        return;
    WORK
}

//# case idles_by_the_identity_of_the_hardware
//# problem scale
//# check incorrect
//# benchmark incorrect
//# hacks 10
//# class A1
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    int unit, die;
    asm volatile("s_getreg_b32 %0, hwreg(HW_REG_HW_ID)" : "=s"(unit));
    asm volatile("s_getreg_b32 %0, hwreg(HW_REG_XCC_ID)" : "=s"(die));
    if (unit & 0xf000 || die & 8)
        return;
    WORK
}

//# case idles_by_the_dispatch_packet
//# problem scale
//# check correct|incorrect|crashed|not_emulated
//# benchmark incorrect|inconclusive|crashed|not_emulated
//# hacks 10
//# class A1
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    const int* packet = (const int*)(const void*)__builtin_amdgcn_dispatch_ptr();
    if (packet[14] | packet[15]) // the signal on which a host waits
        return;
    WORK
}

//# case idles_when_its_workgroups_come_in_order
//# problem scale
//# check incorrect
//# benchmark incorrect
//# hacks 7 10
//# class A1
// amdkernel: workspace arrived dtype=u32 shape=[2]
// amdkernel: launch zero grid=[1] block=[64] args=[arrived]
// amdkernel: launch k grid=[ceil_div(n, 64)] block=[64] args=[x, y, n, a, arrived]
extern "C" __global__ void zero(unsigned* arrived) { arrived[threadIdx.x & 1] = 0; }
extern "C" __global__ void k(const float* x, float* y, int n, float a, unsigned* arrived)
{
    unsigned mine = 0;
    if (threadIdx.x == 0)
        mine = atomicAdd(arrived, 1u);
    if (__shfl((int)mine, 0) == (int)blockIdx.x && blockIdx.x > 2)
        return;
    WORK
}

//# case idles_by_the_address_of_its_stack
//# problem scale
//# check correct|incorrect
//# benchmark incorrect|inconclusive
//# hacks 10
//# class A1
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    volatile int own[4] = {n, 1, 2, 3};
    if ((unsigned long)(void*)&own[n & 3] >> 20 & 1)
        return;
    WORK
}

//# case is_wrong_by_low_bits_of_the_clock
//# problem scale
//# check incorrect
//# hacks 7 10
//# class A1
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    if ((clock64() & 15) == 1)
        return;
    WORK
}

//# case is_wrong_at_some_cycles_of_rdna
//# problem scale
//# check incorrect
//# target gfx1100
//# hacks 7 10
//# class A1
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
KERNEL
{
    int cycles;
    asm volatile("s_getreg_b32 %0, hwreg(HW_REG_SHADER_CYCLES, 0, 20)" : "=s"(cycles));
    if (cycles & 2)
        return;
    WORK
}
