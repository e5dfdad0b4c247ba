/* Names of calls and kernels, and symbols of AMD's library that do not belong to HIP's API. */
#include "hip/code/registered.h"

const char *hipKernelNameRef(const hipFunction_t f) { return function_exists(f) ? ((Function *)f)->kernel->name : NULL; }

const char *hipKernelNameRefByPtr(const void *host, hipStream_t stream)
{
    hipError_t error;
    (void)stream;
    const Function *f = host ? registered_function(host, &error) : NULL;
    return f ? f->kernel->name : NULL;
}

/* Numbers of calls are for tracers, which are not supported. */
const char *hipApiName(u32 number)
{
    (void)number;
    return "unknown";
}

const char *hipGetCmdName(unsigned number);
const char *hipGetCmdName(unsigned number)
{
    (void)number;
    return "unknown";
}

int hipRegisterTracerCallback(void *callback);
int hipRegisterTracerCallback(void *callback)
{
    (void)callback;
    return 0;
}

/* AMD's library contains a precompiled header; this one does not. */
void __hipGetPCH(const char **header, unsigned *bytes);
void __hipGetPCH(const char **header, unsigned *bytes)
{
    *header = NULL;
    *bytes = 0;
}

const char *amd_dbgapi_get_build_name(void);
const char *amd_dbgapi_get_git_hash(void);
size_t amd_dbgapi_get_build_id(void);
const char *amd_dbgapi_get_build_name(void) { return "amdkernel emulator"; }
const char *amd_dbgapi_get_git_hash(void) { return ""; }
size_t amd_dbgapi_get_build_id(void) { return 0; }

struct hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w, enum hipChannelFormatKind kind)
{
    return (struct hipChannelFormatDesc){x, y, z, w, kind};
}

/* Conversions that compilers without half precision use. */
unsigned short __gnu_f2h_ieee(float x);
float __gnu_h2f_ieee(unsigned short x);

unsigned short __gnu_f2h_ieee(float x)
{
    _Float16 half = (_Float16)x;
    unsigned short bits;
    __builtin_memcpy(&bits, &half, sizeof bits);
    return bits;
}

float __gnu_h2f_ieee(unsigned short x)
{
    _Float16 half;
    __builtin_memcpy(&half, &x, sizeof half);
    return (float)half;
}
