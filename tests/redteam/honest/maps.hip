// Element by element: vectors, tails, buffers that clamp, assembly, denormals, other builds and other widths of a wave.
#include <hip/hip_runtime.h>
#define AT int(blockIdx.x * blockDim.x + threadIdx.x)

//# case persistent_workgroups
//# problem scale
// amdkernel: launch k grid=[4] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    for (int i = AT; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i];
}

//# case vectors_with_a_tail
//# problem scale
// amdkernel: launch k grid=[ceil_div(n, 1024)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    int i = 4 * AT;
    if (i + 3 < n) {
        float4 v = *(const float4*)(x + i);
        *(float4*)(y + i) = make_float4(a * v.x, a * v.y, a * v.z, a * v.w);
    } else
        for (; i < n; i++)
            y[i] = a * x[i];
}

//# case built_without_optimisation
//# problem scale
// amdkernel: build -O0
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
static __device__ float scaled(float v, float by) { return by * v; }
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        y[AT] = scaled(x[AT], a);
}

//# case buffers_that_clamp
//# problem scale
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    auto from = __builtin_amdgcn_make_buffer_rsrc((void*)x, 0, 4 * n, 0x00020000);
    auto to = __builtin_amdgcn_make_buffer_rsrc(y, 0, 4 * n, 0x00020000);
    int v = __builtin_amdgcn_raw_buffer_load_b32(from, 4 * AT, 0, 0); // beyond the end: zero
    __builtin_amdgcn_raw_buffer_store_b32(__float_as_int(a * __int_as_float(v)), to, 4 * AT, 0, 0); // dropped there
}

//# case two_launches_of_half_each
//# problem scale
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256] args=[x, y, n, a, 0]
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256] args=[x, y, n, a, 1]
extern "C" __global__ void k(const float* x, float* y, int n, float a, int odd)
{
    if (AT < n && AT % 2 == odd)
        y[AT] = a * x[AT];
}

//# case loads_ahead
//# problem scale
// amdkernel: launch k grid=[1] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    float next = x[min((int)threadIdx.x, n - 1)];
    for (int i = threadIdx.x; i < n; i += 256) {
        float now = next;
        next = x[min(i + 256, n - 1)];
        y[i] = a * now;
    }
}

//# case past_the_caches
//# problem scale
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT < n)
        __builtin_nontemporal_store(a * __builtin_nontemporal_load(x + AT), y + AT);
}

//# case assembly_that_waits
//# problem scale
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    if (AT >= n)
        return;
    const float* from = x + AT;
    float v, w;
    asm volatile("global_load_dword %0, %2, off\n\tglobal_load_dword %1, %2, off\n\ts_waitcnt vmcnt(1)\n\t"
                 "v_mul_f32 %0, %3, %0\n\ts_waitcnt vmcnt(0)\n\tv_mul_f32 %1, %3, %1"
                 : "=&v"(v), "=&v"(w) : "v"(from), "v"(a) : "memory");
    y[AT] = 0.5f * v + 0.5f * w;
}

//# case assembly_whose_loads_come_back_in_order
//# problem scale
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    __shared__ float s[512];
    s[threadIdx.x] = s[threadIdx.x + 256] = AT < n ? x[AT] : 0;
    __syncthreads();
    unsigned at = (unsigned)(size_t)(__attribute__((address_space(3))) float*)(s + threadIdx.x);
    float v, w;
    asm volatile("ds_read_b32 %0, %2\n\tds_read_b32 %1, %2 offset:1024\n\ts_waitcnt lgkmcnt(1)\n\tv_mul_f32 %0, %3, %0\n\t"
                 "s_waitcnt lgkmcnt(0)\n\tv_mul_f32 %1, %3, %1"
                 : "=&v"(v), "=&v"(w) : "v"(at), "v"(a) : "memory");
    if (AT < n)
        y[AT] = 0.5f * v + 0.5f * w;
}

//# case waves_of_32
//# problem scale
//# target gfx1100
// amdkernel: launch k grid=[ceil_div(n, 128)] block=[128]
extern "C" __global__ void k(const float* x, float* y, int n, float a)
{
    __shared__ float s[128];
    if (AT < n)
        s[threadIdx.x] = x[AT];
    __builtin_amdgcn_wave_barrier();
    if (AT < n)
        y[AT] = a * s[threadIdx.x];
}

//# case waves_of_64_on_rdna
//# problem total
//# target gfx1201
// amdkernel: build -mwavefrontsize64
// amdkernel: launch k grid=[1] block=[64]
extern "C" __global__ void k(const int* x, long* total, int n)
{
    long sum = 0;
    for (int i = threadIdx.x; i < n; i += 64)
        sum += x[i];
    for (int o = 32; o; o >>= 1)
        sum += __shfl_down((long long)sum, o, 64);
    if (threadIdx.x == 0)
        *total = sum;
}

//# case writes_each_element_twice
//# problem scale
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, volatile float* y, int n, float a)
{
    if (AT >= n)
        return;
    y[AT] = 0;
    y[AT] = a * x[AT];
}

//# case multiplies_by_bits
//# problem increment
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(int* x, int n)
{
    if (AT < n)
        x[AT] = x[AT] << 1 | 1;
}

//# case in_place_by_way_of_a_workspace
//# problem increment
// amdkernel: workspace w dtype=i32 shape=[n]
// amdkernel: launch out grid=[ceil_div(n, 256)] block=[256] args=[x, w, n]
// amdkernel: launch back grid=[ceil_div(n, 256)] block=[256] args=[w, x, n]
extern "C" __global__ void out(const int* x, int* w, int n)
{
    if (AT < n)
        w[n - 1 - AT] = 2 * x[AT] + 1;
}
extern "C" __global__ void back(const int* w, int* x, int n)
{
    if (AT < n)
        x[AT] = w[n - 1 - AT];
}

//# case a_template_that_is_instantiated
//# problem scale
// amdkernel: launch scaled<float, 2> grid=[ceil_div(n, 512)] block=[256] args=[x, y, n, a]
template <typename T, int EACH> __global__ void scaled(const T* x, T* y, int n, T a)
{
    for (int k = 0; k < EACH; k++)
        if (EACH * AT + k < n)
            y[EACH * AT + k] = a * x[EACH * AT + k];
}
template __global__ void scaled<float, 2>(const float*, float*, int, float);

//# case rounds_halves_away_from_zero
//# problem quantise
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, signed char* q, int n, float step)
{
    if (AT < n)
        q[AT] = (signed char)fminf(127, fmaxf(-128, roundf(x[AT] / step)));
}

//# case quantises_by_the_inverse_in_packed_stores
//# problem quantise
// amdkernel: launch k grid=[ceil_div(n, 1024)] block=[256]
extern "C" __global__ void k(const float* x, signed char* q, int n, float step)
{
    float inverse = 1 / step;
    int i = 4 * AT;
    char4 packed;
    for (int k = 0; k < 4 && i + k < n; k++)
        (&packed.x)[k] = (signed char)fminf(127, fmaxf(-128, rintf(x[i + k] * inverse)));
    if (i + 3 < n)
        *(char4*)(q + i) = packed;
    else
        for (int k = 0; i + k < n; k++)
            q[i + k] = (&packed.x)[k];
}

//# case a_gate_with_fast_exponentials
//# problem gated
// amdkernel: launch k grid=[ceil_div(n, 512)] block=[256]
extern "C" __global__ void k(const _Float16* x, _Float16* y, int n)
{
    for (int i = 2 * AT; i < min(n, 2 * AT + 2); i++) {
        float v = (float)x[i];
        y[i] = (_Float16)(v * __builtin_amdgcn_rcpf(1 + __builtin_amdgcn_exp2f(-1.44269504f * v)));
    }
}

//# case keeps_denormals
//# problem tiny
// amdkernel: launch k grid=[ceil_div(n, 256)] block=[256]
extern "C" __global__ void k(const float* x, float* y, int n)
{
    if (AT < n)
        y[AT] = x[AT] * 0x1p-130f;
}

//# case stages_through_padded_lds
//# problem turned
// amdkernel: launch k grid=[ceil_div(cols, 32), ceil_div(rows, 32)] block=[32, 8]
extern "C" __global__ void k(const float* x, float* y, int rows, int cols)
{
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r0 = blockIdx.y * 32;
    for (int k = threadIdx.y; k < 32; k += 8)
        if (r0 + k < rows && c < cols)
            tile[k][threadIdx.x] = x[(r0 + k) * cols + c];
    __syncthreads();
    int r = r0 + threadIdx.x;
    for (int k = threadIdx.y; k < 32; k += 8)
        if (int to = blockIdx.x * 32 + k; to < cols && r < rows)
            y[to * rows + r] = tile[threadIdx.x][k];
}

//# case stages_through_swizzled_lds
//# problem turned
// amdkernel: launch k grid=[ceil_div(cols, 32), ceil_div(rows, 32)] block=[32, 32]
extern "C" __global__ void k(const float* x, float* y, int rows, int cols)
{
    __shared__ float tile[32 * 32];
    unsigned tx = threadIdx.x, ty = threadIdx.y;
    int c = blockIdx.x * 32 + tx, r = blockIdx.y * 32 + ty;
    tile[ty * 32 + (tx ^ ty)] = r < rows && c < cols ? x[r * cols + c] : 0;
    __syncthreads();
    int to = blockIdx.x * 32 + ty, from = blockIdx.y * 32 + tx;
    if (to < cols && from < rows)
        y[to * rows + from] = tile[tx * 32 + (ty ^ tx)];
}

//# case gathers_by_indices
//# problem gathered
//# check correct unread_input
// amdkernel: launch k grid=[8] block=[64]
extern "C" __global__ void k(const float* x, const int* at, float* y, int m, int n)
{
    for (int i = AT; i < n; i += 512)
        y[i] = x[at[i]];
}

//# case gathers_from_lds_and_memory
//# problem gathered
//# check correct unread_input
// amdkernel: launch k grid=[4] block=[256]
extern "C" __global__ void k(const float* x, const int* at, float* y, int m, int n)
{
    __shared__ float s[1024];
    for (int i = threadIdx.x; i < min(m, 1024); i += 256)
        s[i] = x[i];
    __syncthreads();
    for (int i = AT; i < n; i += 1024)
        y[i] = at[i] < 1024 ? s[at[i]] : x[at[i]];
}

//# case blends_in_packed_halves
//# problem blend
//# check correct|refused
// amdkernel: launch k grid=[ceil_div(n, 512)] block=[256]
typedef _Float16 two __attribute__((ext_vector_type(2)));
extern "C" __global__ void k(const _Float16* x, const _Float16* z, _Float16* y, int n)
{
    int i = 2 * AT;
    if (i + 1 < n)
        *(two*)(y + i) = *(const two*)(x + i) + *(const two*)(z + i) * (_Float16)0.001f;
    else if (i < n)
        y[i] = x[i] + z[i] * (_Float16)0.001f;
}
