// Kernels of two objects that were linked to one code object; FIRST is defined for one of them, HOST for the program.
#ifdef HOST
#include <hip/hip_runtime.h>

#include <cstdio>

static hipError_t run(hipModule_t module, const char* name, int* out)
{
    hipFunction_t kernel;
    void* arguments[] = {&out};
    if (hipError_t error = hipModuleGetFunction(&kernel, module, name); error != hipSuccess)
        return error;
    if (hipError_t error = hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr))
        return error;
    return hipDeviceSynchronize();
}

int main(int count, char** names)
{
    hipModule_t module;
    int *out, got = 0;
    if (hipModuleLoad(&module, "linked.co") != hipSuccess || hipMallocManaged(&out, sizeof *out) != hipSuccess)
        return 1;
    for (int k = 1; k < count; k++) {
        *out = 0;
        hipError_t error = run(module, names[k], out);
        printf("%s %s %d\n", names[k], hipGetErrorName(error), *out);
    }
}
#else
#define KERNEL(name) extern "C" __attribute__((global)) void name(int* out)

#ifdef FIRST
KERNEL(alone) { *out = 1; }
#else
static __attribute__((device, noinline)) int twice(int x) { return __builtin_amdgcn_readfirstlane(x) * 2; }
KERNEL(calls) { *out = twice(*out + 1); }

#define JUMP(distance) \
    asm volatile("s_getpc_b64 s[40:41]\n" \
                 "s_add_u32 s40, s40, " distance "\n" \
                 "s_addc_u32 s41, s41, 0\n" \
                 "s_setpc_b64 s[40:41]\n" \
                 "s_endpgm\n" ::: "s40", "s41", "scc")
KERNEL(jumps_within)
{
    JUMP("16"); // over the s_endpgm
    *out = 3;
}
KERNEL(jumps_to_another)
{
    asm volatile("s_getpc_b64 s[40:41]\n"
                 "s_add_u32 s40, s40, alone@rel32@lo+4\n"
                 "s_addc_u32 s41, s41, alone@rel32@hi+12\n"
                 "s_setpc_b64 s[40:41]\n" ::: "s40", "s41", "scc");
    *out = 4;
}
KERNEL(jumps_out)
{
    JUMP("0x100000");
    *out = 5;
}
#endif
#endif
