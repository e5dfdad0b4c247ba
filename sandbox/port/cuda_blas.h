// Of cublas_v2.h what programs use most, in plain loops: what it computes, not how fast. hipBLAS is AMD's way.
#pragma once
#include <type_traits>
enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ALLOC_FAILED = 3, CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_MAPPING_ERROR = 11, CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR, CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_LICENSE_ERROR,
};
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE };
enum cublasMath_t { CUBLAS_DEFAULT_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH, CUBLAS_TF32_TENSOR_OP_MATH };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_ALGO0, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cublasComputeType_t {
    CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_32F_FAST_16F = 74, CUBLAS_COMPUTE_32F_FAST_16BF,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77, CUBLAS_COMPUTE_64F = 70, CUBLAS_COMPUTE_32I = 72,
};
struct cublasContext {
    hipStream_t stream;
    cublasPointerMode_t mode;
};
typedef cublasContext *cublasHandle_t;
inline cublasStatus_t cublasCreate(cublasHandle_t *h) { return *h = new cublasContext{}, CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasDestroy(cublasHandle_t h) { return delete h, CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetStream(cublasHandle_t h, hipStream_t s) { return h->stream = s, CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetPointerMode(cublasHandle_t h, cublasPointerMode_t m) { return h->mode = m, CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasSetWorkspace(cublasHandle_t, void *, size_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasGetVersion(cublasHandle_t, int *version) { return *version = 12000, CUBLAS_STATUS_SUCCESS; }
inline const char *cublasGetStatusString(cublasStatus_t s) { return s ? "cuBLAS failed" : "success"; }
inline const char *cublasGetStatusName(cublasStatus_t s) { return s ? "CUBLAS_STATUS_FAILED" : "CUBLAS_STATUS_SUCCESS"; }
inline cublasStatus_t cublas_done() { return hipGetLastError() == hipSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED; }
// A factor: a number of the host, or one in the GPU's memory that the kernel reads.
template <class T> struct cublas_factor {
    T value;
    const T *at;
    cublas_factor(cublasHandle_t h, const T *p) : value(), at(p)
    {
        if (h->mode == CUBLAS_POINTER_MODE_HOST)
            value = *p, at = nullptr;
    }
    __device__ T get() const { return at ? *at : value; }
};
template <class T> struct cublas_sum {
    using type = typename std::conditional<std::is_same<T, double>::value, double, float>::type;
};
template <> struct cublas_sum<int> {
    using type = int;
};
template <class S, class A, class B, class C, class F>
__global__ void cublas_gemm(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, cublas_factor<F> alpha,
                            const A *a, int lda, long long step_a, const A *const *as, const B *b, int ldb, long long step_b,
                            const B *const *bs, cublas_factor<F> beta, C *c, int ldc, long long step_c, C *const *cs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    size_t batch = blockIdx.z;
    a = as ? as[batch] : a + batch * step_a;
    b = bs ? bs[batch] : b + batch * step_b;
    c = cs ? cs[batch] : c + batch * step_c;
    if (i >= m || j >= n)
        return;
    S sum = 0;
    for (int p = 0; p < k; p++)
        sum += static_cast<S>(a[ta ? p + size_t(i) * lda : i + size_t(p) * lda]) *
               static_cast<S>(b[tb ? j + size_t(p) * ldb : p + size_t(j) * ldb]);
    C &to = c[i + size_t(j) * ldc];
    S factor = static_cast<S>(beta.get()); // C is not read where the factor is 0
    to = static_cast<C>(static_cast<S>(alpha.get()) * sum + (factor != S(0) ? factor * static_cast<S>(to) : S(0)));
}
template <class A, class B, class C, class F>
inline cublasStatus_t cublas_multiply(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                                      const F *alpha, const A *a, int lda, long long step_a, const A *const *as, const B *b,
                                      int ldb, long long step_b, const B *const *bs, const F *beta, C *c, int ldc,
                                      long long step_c, C *const *cs, int batches)
{
    dim3 block(16, 16), grid((m + 15) / 16, (n + 15) / 16, batches);
    if (m > 0 && n > 0 && batches > 0)
        cublas_gemm<typename cublas_sum<F>::type><<<grid, block, 0, h->stream>>>(
            ta, tb, m, n, k, cublas_factor<F>(h, alpha), a, lda, step_a, as, b, ldb, step_b, bs, cublas_factor<F>(h, beta), c,
            ldc, step_c, cs);
    return cublas_done();
}
#define CUBLAS_GEMM(letter, T)                                                                                              \
    inline cublasStatus_t cublas##letter##gemm(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n,  \
                                               int k, const T *alpha, const T *a, int lda, const T *b, int ldb,             \
                                               const T *beta, T *c, int ldc)                                                \
    {                                                                                                                       \
        return cublas_multiply<T, T, T>(h, ta, tb, m, n, k, alpha, a, lda, 0, nullptr, b, ldb, 0, nullptr, beta, c, ldc, 0,  \
                                        nullptr, 1);                                                                        \
    }                                                                                                                       \
    inline cublasStatus_t cublas##letter##gemmStridedBatched(                                                               \
        cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T *alpha, const T *a,      \
        int lda, long long sa, const T *b, int ldb, long long sb, const T *beta, T *c, int ldc, long long sc, int count)    \
    {                                                                                                                       \
        return cublas_multiply<T, T, T>(h, ta, tb, m, n, k, alpha, a, lda, sa, nullptr, b, ldb, sb, nullptr, beta, c, ldc,   \
                                        sc, nullptr, count);                                                                \
    }                                                                                                                       \
    inline cublasStatus_t cublas##letter##gemmBatched(                                                                      \
        cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T *alpha,                  \
        const T *const a[], int lda, const T *const b[], int ldb, const T *beta, T *const c[], int ldc, int count)          \
    {                                                                                                                       \
        return cublas_multiply<T, T, T, T>(h, ta, tb, m, n, k, alpha, nullptr, lda, 0, a, nullptr, ldb, 0, b, beta, nullptr, \
                                           ldc, 0, c, count);                                                               \
    }
CUBLAS_GEMM(S, float)
CUBLAS_GEMM(D, double)
CUBLAS_GEMM(H, __half)
template <class A, class C, class F>
inline cublasStatus_t cublas_any(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                                 const void *alpha, const void *a, int lda, long long sa, const void *b, int ldb, long long sb,
                                 const void *beta, void *c, int ldc, long long sc, int count)
{
    return cublas_multiply<A, A, C, F>(h, ta, tb, m, n, k, static_cast<const F *>(alpha), static_cast<const A *>(a), lda, sa,
                                       nullptr, static_cast<const A *>(b), ldb, sb, nullptr, static_cast<const F *>(beta),
                                       static_cast<C *>(c), ldc, sc, nullptr, count);
}
template <class Compute>
inline cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
                                                 int k, const void *alpha, const void *a, hipDataType type_a, int lda,
                                                 long long sa, const void *b, hipDataType type_b, int ldb, long long sb,
                                                 const void *beta, void *c, hipDataType type_c, int ldc, long long sc,
                                                 int count, Compute compute, int)
{
    bool half = int(compute) == int(CUBLAS_COMPUTE_16F); // the type of the factors
#define CUBLAS_TYPES(type, to, A, C, F, when)                                                                               \
    if (type_a == type && type_b == type && type_c == to && (when))                                                         \
        return cublas_any<A, C, F>(h, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, count);
    CUBLAS_TYPES(HIP_R_32F, HIP_R_32F, float, float, float, true)
    CUBLAS_TYPES(HIP_R_64F, HIP_R_64F, double, double, double, true)
    CUBLAS_TYPES(HIP_R_16F, HIP_R_16F, __half, __half, __half, half)
    CUBLAS_TYPES(HIP_R_16F, HIP_R_16F, __half, __half, float, !half)
    CUBLAS_TYPES(HIP_R_16F, HIP_R_32F, __half, float, float, true)
    CUBLAS_TYPES(HIP_R_16BF, HIP_R_16BF, __hip_bfloat16, __hip_bfloat16, float, true)
    CUBLAS_TYPES(HIP_R_16BF, HIP_R_32F, __hip_bfloat16, float, float, true)
    CUBLAS_TYPES(HIP_R_8I, HIP_R_32I, signed char, int, int, true)
    return CUBLAS_STATUS_NOT_SUPPORTED;
}
template <class Compute>
inline cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                                   const void *alpha, const void *a, hipDataType type_a, int lda, const void *b,
                                   hipDataType type_b, int ldb, const void *beta, void *c, hipDataType type_c, int ldc,
                                   Compute compute, int how)
{
    return cublasGemmStridedBatchedEx(h, ta, tb, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, 0, beta, c, type_c, ldc, 0,
                                      1, compute, how);
}
#include "cuda_blas_vectors.h"
