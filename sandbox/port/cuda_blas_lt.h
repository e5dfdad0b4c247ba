// Of cublasLt.h a product with descriptors, batches, a bias, ReLU or GELU. Other epilogues are not supported.
#pragma once
#include "cuda_blas.h"
#include <string.h>
typedef cublasHandle_t cublasLtHandle_t;
inline cublasStatus_t cublasLtCreate(cublasLtHandle_t *h) { return cublasCreate(h); }
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t h) { return cublasDestroy(h); }
enum cublasLtEpilogue_t {
    CUBLASLT_EPILOGUE_DEFAULT = 1, CUBLASLT_EPILOGUE_RELU = 2, CUBLASLT_EPILOGUE_BIAS = 4, CUBLASLT_EPILOGUE_RELU_BIAS = 6,
    CUBLASLT_EPILOGUE_GELU = 32, CUBLASLT_EPILOGUE_GELU_BIAS = 36, CUBLASLT_EPILOGUE_GELU_AUX = 160,
    CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 164, CUBLASLT_EPILOGUE_DGELU = 192, CUBLASLT_EPILOGUE_BGRADA = 256,
    CUBLASLT_EPILOGUE_BGRADB = 512,
};
enum cublasLtMatmulDescAttributes_t {
    CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLASLT_MATMUL_DESC_SCALE_TYPE, CUBLASLT_MATMUL_DESC_POINTER_MODE,
    CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB, CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
    CUBLASLT_MATMUL_DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD,
    CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26,
};
struct cublasLtMatmulDesc {
    cublasComputeType_t compute;
    hipDataType scale, bias_type;
    cublasOperation_t a, b;
    cublasLtEpilogue_t epilogue;
    const void *bias;
};
typedef cublasLtMatmulDesc *cublasLtMatmulDesc_t;
enum cublasLtMatrixLayoutAttribute_t {
    CUBLASLT_MATRIX_LAYOUT_TYPE, CUBLASLT_MATRIX_LAYOUT_ORDER, CUBLASLT_MATRIX_LAYOUT_ROWS, CUBLASLT_MATRIX_LAYOUT_COLS,
    CUBLASLT_MATRIX_LAYOUT_LD, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
};
struct cublasLtMatrixLayout {
    hipDataType type;
    unsigned long long rows, columns;
    long long ld, offset;
    int batches;
};
typedef cublasLtMatrixLayout *cublasLtMatrixLayout_t;
enum cublasLtMatmulPreferenceAttributes_t { CUBLASLT_MATMUL_PREF_SEARCH_MODE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES };
typedef int *cublasLtMatmulPreference_t;
struct cublasLtMatmulAlgo_t {
    int unused;
};
struct cublasLtMatmulHeuristicResult_t {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
};
inline cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *d, cublasComputeType_t compute, hipDataType scale)
{
    *d = new cublasLtMatmulDesc{compute, scale, scale, CUBLAS_OP_N, CUBLAS_OP_N, CUBLASLT_EPILOGUE_DEFAULT, nullptr};
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d) { return delete d, CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t what, const void *value,
                                                     size_t bytes)
{
    void *to = what == CUBLASLT_MATMUL_DESC_TRANSA           ? static_cast<void *>(&d->a)
               : what == CUBLASLT_MATMUL_DESC_TRANSB         ? static_cast<void *>(&d->b)
               : what == CUBLASLT_MATMUL_DESC_EPILOGUE       ? static_cast<void *>(&d->epilogue)
               : what == CUBLASLT_MATMUL_DESC_BIAS_POINTER   ? static_cast<void *>(&d->bias)
               : what == CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE ? static_cast<void *>(&d->bias_type)
                                                             : nullptr;
    if (to)
        memcpy(to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *m, hipDataType type, unsigned long long rows,
                                                 unsigned long long columns, long long ld)
{
    return *m = new cublasLtMatrixLayout{type, rows, columns, ld, 0, 1}, CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t m) { return delete m, CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t m, cublasLtMatrixLayoutAttribute_t what,
                                                       const void *value, size_t bytes)
{
    if (what == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
        memcpy(&m->batches, value, bytes);
    else if (what == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
        memcpy(&m->offset, value, bytes);
    else
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p) { return *p = nullptr, CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) { return CUBLAS_STATUS_SUCCESS; }
inline cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
                                                           const void *, size_t)
{
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                                     cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                     cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t *results,
                                                     int *found)
{
    return results[0] = {}, *found = 1, CUBLAS_STATUS_SUCCESS;
}
template <class D, class Bias>
inline cublasStatus_t cublasLt_end(cublasLtHandle_t h, const cublasLtMatmulDesc *how, D *d, const cublasLtMatrixLayout *of)
{
    int rows = of->rows, e = how->epilogue;
    auto bias = static_cast<const Bias *>(how->bias);
    cublasLtMatrixLayout m = *of;
    return cublas_for(h, rows * int(m.columns) * m.batches, [=] __device__(int i) {
        D &to = d[i % rows + i / rows % m.columns * m.ld + i / rows / m.columns * m.offset];
        float v = static_cast<float>(to) + (e & CUBLASLT_EPILOGUE_BIAS ? static_cast<float>(bias[i % rows]) : 0.0f);
        if (e & CUBLASLT_EPILOGUE_RELU)
            v = v > 0 ? v : 0;
        if (e & CUBLASLT_EPILOGUE_GELU)
            v = 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
        to = static_cast<D>(v);
    });
}
inline cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t how, const void *alpha, const void *a,
                                     cublasLtMatrixLayout_t of_a, const void *b, cublasLtMatrixLayout_t of_b, const void *beta,
                                     const void *c, cublasLtMatrixLayout_t of_c, void *d, cublasLtMatrixLayout_t of_d,
                                     const cublasLtMatmulAlgo_t *, void *, size_t, hipStream_t stream)
{
    if (c != d || how->epilogue > CUBLASLT_EPILOGUE_GELU_BIAS)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    h->stream = stream;
    (void)of_c;
    int inner = how->a ? of_a->rows : of_a->columns;
    cublasStatus_t done = cublasGemmStridedBatchedEx(h, how->a, how->b, of_d->rows, of_d->columns, inner, alpha, a, of_a->type,
                                                     of_a->ld, of_a->offset, b, of_b->type, of_b->ld, of_b->offset, beta, d,
                                                     of_d->type, of_d->ld, of_d->offset, of_d->batches, how->compute, 0);
    if (done || how->epilogue == CUBLASLT_EPILOGUE_DEFAULT)
        return done;
    if (of_d->type == HIP_R_32F)
        return cublasLt_end<float, float>(h, how, static_cast<float *>(d), of_d);
    if (of_d->type == HIP_R_16F)
        return cublasLt_end<__half, __half>(h, how, static_cast<__half *>(d), of_d);
    if (of_d->type == HIP_R_16BF)
        return cublasLt_end<__hip_bfloat16, __hip_bfloat16>(h, how, static_cast<__hip_bfloat16 *>(d), of_d);
    return CUBLAS_STATUS_NOT_SUPPORTED;
}
