// The bits of E4M3 (OCP) taken apart, a byte a thread.
// amdkernel: launch decode grid=[ceil_div(n, 256)] block=[256]
#include <hip/hip_runtime.h>

extern "C" __global__ void decode(const unsigned char* x, float* y, int n, float scale)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    int bits = x[i], exponent = bits >> 3 & 15, mantissa = bits & 7;
    float v = exponent ? ldexpf(8 + mantissa, exponent - 10) : ldexpf(mantissa, -9);
    if ((bits & 127) == 127)
        v = NAN;
    y[i] = (bits & 128 ? -v : v) * scale;
}
