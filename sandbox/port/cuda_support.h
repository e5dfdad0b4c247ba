// What CUDA has under another signature than HIP, and its few constants.
#pragma once
#ifndef CUDART_VERSION
#define CUDART_VERSION 12000
#define CUDA_VERSION 12000
#endif
#define __DRIVER_TYPES_H__ // helpers of programs ask which of CUDA's headers are there
#define __CUDA_RUNTIME_H__
#define __grid_constant__
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931e+0
#define CUDART_INF_F __int_as_float(0x7f800000)
#define CUDART_INF __longlong_as_double(0x7ff0000000000000ll)
#define CUDART_NAN_F __int_as_float(0x7fffffff)
#define CUDART_NORM_HUGE_F 3.402823466e38f
#define CUDART_MAX_NORMAL_F 3.402823466e38f
#define CUDART_MIN_DENORM_F 1.401298464e-45f
#define CUDART_ZERO_F 0.0f
#define CUDART_ONE_F 1.0f
#define CUDART_NEG_ZERO_F -0.0f
#define CUDART_PIO2_F 1.570796327f
#define CUDART_PIO4_F 0.785398163f
#define CUDART_2_OVER_PI_F 0.636619772f
#define CUDART_SQRT_TWO_F 1.414213562f
#define CUDART_SQRT_HALF_F 0.707106781f
#define CUDART_L2E_F 1.442695041f
#define CUDART_LN2_F 0.693147181f
#define CUDART_NAN __longlong_as_double(0x7fffffffffffffffll)
#define CUDART_ZERO 0.0
#define CUDART_ONE 1.0
#define CUDART_NEG_ZERO -0.0
#define CUDART_MIN_DENORM __longlong_as_double(1ll)
#define CUDART_PIO2 1.5707963267948966
#define CUDART_PIO4 0.7853981633974483
#define CUDART_SQRT_TWO 1.4142135623730951
#define CUDART_L2E 1.4426950408889634
#define CUDART_LN2 0.6931471805599453
#ifndef CUDART_CB
#define CUDART_CB
#endif
#define __nv_bfloat16 __hip_bfloat16
#define __nv_bfloat162 __hip_bfloat162
#define __nv_bfloat16_raw __hip_bfloat16_raw
#define __nv_bfloat162_raw __hip_bfloat162_raw
typedef __hip_bfloat16 nv_bfloat16;
typedef __hip_bfloat162 nv_bfloat162;
typedef hipFloatComplex cuFloatComplex;
typedef hipDoubleComplex cuDoubleComplex;
typedef hipFloatComplex cuComplex;
#define make_cuFloatComplex make_hipFloatComplex
#define make_cuComplex make_hipFloatComplex
#define make_cuDoubleComplex make_hipDoubleComplex
#define cuCmulf hipCmulf
#define cuCaddf hipCaddf
#define cuCsubf hipCsubf
#define cuCdivf hipCdivf
#define cuCabsf hipCabsf
#define cuConjf hipConjf
#define cuCrealf hipCrealf
#define cuCimagf hipCimagf
#define cuCmul hipCmul
#define cuCadd hipCadd
#define cuCsub hipCsub
#define cuCdiv hipCdiv
#define cuCabs hipCabs
#define cuConj hipConj
#define cuCreal hipCreal
#define cuCimag hipCimag

template <class T> inline hipError_t cudaMallocHost(T **p, size_t bytes, unsigned flags = 0)
{
    return hipHostMalloc(reinterpret_cast<void **>(p), bytes, flags);
}
template <class T> inline hipError_t cudaHostAlloc(T **p, size_t bytes, unsigned flags)
{
    return hipHostMalloc(reinterpret_cast<void **>(p), bytes, flags);
}
inline hipError_t cudaEventCreate(hipEvent_t *e) { return hipEventCreate(e); }
inline hipError_t cudaEventCreate(hipEvent_t *e, unsigned flags) { return hipEventCreateWithFlags(e, flags); }
template <class F> inline hipError_t cudaFuncSetAttribute(F f, hipFuncAttribute what, int value)
{
    return hipFuncSetAttribute(reinterpret_cast<const void *>(f), what, value);
}
template <class F> inline hipError_t cudaFuncSetCacheConfig(F f, hipFuncCache_t what)
{
    return hipFuncSetCacheConfig(reinterpret_cast<const void *>(f), what);
}
template <class F> inline hipError_t cudaFuncGetAttributes(hipFuncAttributes *a, F f)
{
    return hipFuncGetAttributes(a, reinterpret_cast<const void *>(f));
}
// A wave is 32 or 64 lanes; what the program computes with is a warp.
inline hipError_t cudaGetDeviceProperties(hipDeviceProp_t *p, int device)
{
    hipError_t error = hipGetDeviceProperties(p, device);
    p->warpSize = 32;
    return error;
}
inline hipError_t cudaDeviceGetAttribute(int *value, hipDeviceAttribute_t what, int device)
{
    hipError_t error = hipDeviceGetAttribute(value, what, device);
    if (what == hipDeviceAttributeWarpSize)
        *value = 32;
    return error;
}
// Hints, with the arguments of any release of CUDA.
template <class... Hint> inline hipError_t cudaMemPrefetchAsync(Hint...) { return hipSuccess; }
template <class... Hint> inline hipError_t cudaMemAdvise(Hint...) { return hipSuccess; }
__device__ inline int __ffsll(long v) { return __ffsll(static_cast<unsigned long long>(v)); }
__device__ inline int __ffsll(unsigned long v) { return __ffsll(static_cast<unsigned long long>(v)); }
template <class T> __device__ inline size_t __cvta_generic_to_shared(T *p)
{
    return reinterpret_cast<size_t>((__attribute__((address_space(3))) void *)(p));
}
__device__ inline unsigned atomicInc_system(unsigned *p, unsigned v) { return atomicInc(p, v); }
__device__ inline unsigned atomicDec_system(unsigned *p, unsigned v) { return atomicDec(p, v); }
__device__ inline void __trap() { __builtin_trap(); }
__device__ inline void __brkpt() { __builtin_debugtrap(); }
