// The functions of cublas_v2.h on vectors, and copies between host and GPU. Included by cuda_blas.h.
#pragma once
template <class T, class F> __global__ void cublas_each(int n, F change)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        change(i);
}
template <class F> inline cublasStatus_t cublas_for(cublasHandle_t h, int n, F change)
{
    if (n > 0)
        cublas_each<int><<<n < 65536 ? (n + 255) / 256 : 256, 256, 0, h->stream>>>(n, change);
    return cublas_done();
}
// One block sums, or finds the largest; the result goes to the host or to the GPU's memory.
template <class T, class F> __global__ void cublas_one(int n, T *result, F last)
{
    __shared__ T part[256];
    T sum = 0;
    for (int i = threadIdx.x; i < n; i += 256)
        sum += last(i);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 128; step; step /= 2) {
        if (threadIdx.x < step)
            part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *result = last.finish(part[0]);
}
template <class T, class F> inline cublasStatus_t cublas_reduce(cublasHandle_t h, int n, T *result, F last)
{
    T *at = result;
    bool host = h->mode == CUBLAS_POINTER_MODE_HOST;
    if (host && hipMalloc(reinterpret_cast<void **>(&at), sizeof(T)) != hipSuccess)
        return CUBLAS_STATUS_ALLOC_FAILED;
    cublas_one<T><<<1, 256, 0, h->stream>>>(n, at, last);
    if (host) {
        (void)hipMemcpyAsync(result, at, sizeof(T), hipMemcpyDeviceToHost, h->stream);
        (void)hipStreamSynchronize(h->stream);
        (void)hipFree(at);
    }
    return cublas_done();
}
template <class T> struct cublas_product {
    const T *x, *y;
    int step_x, step_y;
    bool root;
    __device__ T operator()(int i) const { return x[size_t(i) * step_x] * y[size_t(i) * step_y]; }
    __device__ T finish(T sum) const { return root ? T(sqrt(double(sum))) : sum; }
};
template <class T> struct cublas_absolute {
    const T *x;
    int step;
    __device__ T operator()(int i) const { return x[size_t(i) * step] < 0 ? -x[size_t(i) * step] : x[size_t(i) * step]; }
    __device__ T finish(T sum) const { return sum; }
};
// The place of the largest or smallest value, from 1; one thread looks at all.
template <class T> struct cublas_extreme {
    const T *x;
    int n, step, sign;
    __device__ int operator()(int i) const
    {
        if (i)
            return 0;
        int best = 0;
        for (int k = 1; k < n; k++)
            if (sign * fabs(double(x[size_t(k) * step])) > sign * fabs(double(x[size_t(best) * step])))
                best = k;
        return best + 1;
    }
    __device__ int finish(int place) const { return place; }
};
#define CUBLAS_VECTORS(L, l, T)                                                                                             \
    inline cublasStatus_t cublas##L##axpy(cublasHandle_t h, int n, const T *alpha, const T *x, int dx, T *y, int dy)        \
    {                                                                                                                       \
        cublas_factor<T> by(h, alpha);                                                                                      \
        return cublas_for(h, n, [=] __device__(int i) { y[size_t(i) * dy] += by.get() * x[size_t(i) * dx]; });              \
    }                                                                                                                       \
    inline cublasStatus_t cublas##L##scal(cublasHandle_t h, int n, const T *alpha, T *x, int dx)                            \
    {                                                                                                                       \
        cublas_factor<T> by(h, alpha);                                                                                      \
        return cublas_for(h, n, [=] __device__(int i) { x[size_t(i) * dx] *= by.get(); });                                  \
    }                                                                                                                       \
    inline cublasStatus_t cublas##L##copy(cublasHandle_t h, int n, const T *x, int dx, T *y, int dy)                        \
    {                                                                                                                       \
        return cublas_for(h, n, [=] __device__(int i) { y[size_t(i) * dy] = x[size_t(i) * dx]; });                          \
    }                                                                                                                       \
    inline cublasStatus_t cublas##L##swap(cublasHandle_t h, int n, T *x, int dx, T *y, int dy)                              \
    {                                                                                                                       \
        return cublas_for(h, n, [=] __device__(int i) {                                                                     \
            T kept = x[size_t(i) * dx];                                                                                     \
            x[size_t(i) * dx] = y[size_t(i) * dy];                                                                          \
            y[size_t(i) * dy] = kept;                                                                                       \
        });                                                                                                                 \
    }                                                                                                                       \
    inline cublasStatus_t cublas##L##dot(cublasHandle_t h, int n, const T *x, int dx, const T *y, int dy, T *result)        \
    {                                                                                                                       \
        return cublas_reduce(h, n, result, cublas_product<T>{x, y, dx, dy, false});                                         \
    }                                                                                                                       \
    inline cublasStatus_t cublas##L##nrm2(cublasHandle_t h, int n, const T *x, int dx, T *result)                           \
    {                                                                                                                       \
        return cublas_reduce(h, n, result, cublas_product<T>{x, x, dx, dx, true});                                          \
    }                                                                                                                       \
    inline cublasStatus_t cublas##L##asum(cublasHandle_t h, int n, const T *x, int dx, T *result)                           \
    {                                                                                                                       \
        return cublas_reduce(h, n, result, cublas_absolute<T>{x, dx});                                                      \
    }                                                                                                                       \
    inline cublasStatus_t cublasI##l##amax(cublasHandle_t h, int n, const T *x, int dx, int *result)                        \
    {                                                                                                                       \
        return cublas_reduce(h, n, result, cublas_extreme<T>{x, n, dx, 1});                                                 \
    }                                                                                                                       \
    inline cublasStatus_t cublasI##l##amin(cublasHandle_t h, int n, const T *x, int dx, int *result)                        \
    {                                                                                                                       \
        return cublas_reduce(h, n, result, cublas_extreme<T>{x, n, dx, -1});                                                \
    }                                                                                                                       \
    inline cublasStatus_t cublas##L##gemv(cublasHandle_t h, cublasOperation_t turned, int m, int n, const T *alpha,         \
                                          const T *a, int lda, const T *x, int dx, const T *beta, T *y, int dy)             \
    {                                                                                                                       \
        cublas_factor<T> by(h, alpha), keep(h, beta);                                                                       \
        int columns = turned ? m : n;                                                                                       \
        return cublas_for(h, turned ? n : m, [=] __device__(int i) {                                                        \
            T sum = 0, kept = keep.get(), &to = y[size_t(i) * dy];                                                          \
            for (int j = 0; j < columns; j++)                                                                               \
                sum += a[turned ? j + size_t(i) * lda : i + size_t(j) * lda] * x[size_t(j) * dx];                           \
            to = by.get() * sum + (kept != T(0) ? kept * to : T(0));                                                        \
        });                                                                                                                 \
    }                                                                                                                       \
    inline cublasStatus_t cublas##L##ger(cublasHandle_t h, int m, int n, const T *alpha, const T *x, int dx, const T *y,    \
                                         int dy, T *a, int lda)                                                             \
    {                                                                                                                       \
        cublas_factor<T> by(h, alpha);                                                                                      \
        return cublas_for(h, m * n, [=] __device__(int i) {                                                                 \
            a[i % m + size_t(i / m) * lda] += by.get() * x[size_t(i % m) * dx] * y[size_t(i / m) * dy];                     \
        });                                                                                                                 \
    }                                                                                                                       \
    inline cublasStatus_t cublas##L##geam(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n,       \
                                          const T *alpha, const T *a, int lda, const T *beta, const T *b, int ldb, T *c,    \
                                          int ldc)                                                                          \
    {                                                                                                                       \
        cublas_factor<T> by(h, alpha), and_by(h, beta);                                                                     \
        return cublas_for(h, m * n, [=] __device__(int at) {                                                                \
            size_t i = at % m, j = at / m;                                                                                  \
            T one = by.get(), two = and_by.get();                                                                           \
            c[i + j * ldc] = (one != T(0) ? one * a[ta ? j + i * lda : i + j * lda] : T(0)) +                               \
                             (two != T(0) ? two * b[tb ? j + i * ldb : i + j * ldb] : T(0));                                \
        });                                                                                                                 \
    }
CUBLAS_VECTORS(S, s, float)
CUBLAS_VECTORS(D, d, double)
inline cublasStatus_t cublas_copied(hipError_t e) { return e == hipSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR; }
inline cublasStatus_t cublasSetVector(int n, int size, const void *x, int dx, void *y, int dy)
{
    return cublas_copied(hipMemcpy2D(y, size_t(dy) * size, x, size_t(dx) * size, size, n, hipMemcpyHostToDevice));
}
inline cublasStatus_t cublasGetVector(int n, int size, const void *x, int dx, void *y, int dy)
{
    return cublas_copied(hipMemcpy2D(y, size_t(dy) * size, x, size_t(dx) * size, size, n, hipMemcpyDeviceToHost));
}
inline cublasStatus_t cublasSetMatrix(int rows, int columns, int size, const void *a, int lda, void *b, int ldb)
{
    return cublas_copied(hipMemcpy2D(b, size_t(ldb) * size, a, size_t(lda) * size, size_t(rows) * size, columns, hipMemcpyHostToDevice));
}
inline cublasStatus_t cublasGetMatrix(int rows, int columns, int size, const void *a, int lda, void *b, int ldb)
{
    return cublas_copied(hipMemcpy2D(b, size_t(ldb) * size, a, size_t(lda) * size, size_t(rows) * size, columns, hipMemcpyDeviceToHost));
}
