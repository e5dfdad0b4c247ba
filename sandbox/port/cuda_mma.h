// nvcuda::wmma of mma.h on a warp of 32 lanes, by shuffles: what it computes, not how fast. MFMA and WMMA are AMD's ways.
// A lane has a whole row of A, a whole column of B, and a part of a column of the sum.
#pragma once
#include <type_traits>
namespace nvcuda {
namespace wmma {
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
} // namespace precision
template <class T> struct stored {
    using type = T;
};
template <> struct stored<precision::tf32> {
    using type = float;
};
template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
    using element_type = typename stored<T>::type;
    static constexpr bool sums = std::is_same<Use, accumulator>::value;
    static constexpr int num_elements = sums ? M * N / 32 : K;
    static constexpr int num_storage_elements = num_elements;
    element_type x[num_elements];
    __device__ static int line() { return (__lane_id() & 31) % (std::is_same<Use, matrix_a>::value ? M : N); }
    __device__ static int first() { return sums ? (__lane_id() & 31) / N * num_elements : 0; }
    __device__ static constexpr bool along_rows(bool row_major_)
    {
        return std::is_same<Use, matrix_a>::value == row_major_; // whether the elements of a lane are neighbours
    }
    __device__ static size_t place(int i, unsigned stride, bool row_major_)
    {
        size_t along = first() + i, across = line();
        return along_rows(row_major_) ? across * stride + along : along * stride + across;
    }
};
template <class T> __device__ inline auto wide(T v)
{
    if constexpr (std::is_integral<T>::value)
        return static_cast<int>(v);
    else if constexpr (std::is_same<T, double>::value)
        return v;
    else
        return static_cast<float>(v);
}
template <class F, class V> __device__ inline void fill_fragment(F &f, V value)
{
    for (auto &each : f.x)
        each = static_cast<typename F::element_type>(value);
}
template <class Use, int M, int N, int K, class T, class Layout, class P>
__device__ inline void load_matrix_sync(fragment<Use, M, N, K, T, Layout> &f, const P *from, unsigned stride)
{
    for (int i = 0; i < f.num_elements; i++)
        f.x[i] = from[f.place(i, stride, std::is_same<Layout, row_major>::value)];
}
template <int M, int N, int K, class T, class P>
__device__ inline void load_matrix_sync(fragment<accumulator, M, N, K, T> &f, const P *from, unsigned stride, layout_t how)
{
    for (int i = 0; i < f.num_elements; i++)
        f.x[i] = from[f.place(i, stride, how == mem_row_major)];
}
template <int M, int N, int K, class T, class P>
__device__ inline void store_matrix_sync(P *to, const fragment<accumulator, M, N, K, T> &f, unsigned stride, layout_t how)
{
    for (int i = 0; i < f.num_elements; i++)
        to[f.place(i, stride, how == mem_row_major)] = f.x[i];
}
template <int M, int N, int K, class D, class A, class LayoutA, class B, class LayoutB, class C>
__device__ inline void mma_sync(fragment<accumulator, M, N, K, D> &d, const fragment<matrix_a, M, N, K, A, LayoutA> &a,
                                const fragment<matrix_b, M, N, K, B, LayoutB> &b,
                                const fragment<accumulator, M, N, K, C> &c, bool = false)
{
    for (int i = 0; i < d.num_elements; i++) {
        auto sum = wide(c.x[i]);
        for (int k = 0; k < K; k++)
            sum += cuda_warp::plain(wide(a.x[k]), d.first() + i) * wide(b.x[k]);
        d.x[i] = static_cast<typename stored<D>::type>(sum);
    }
}
// Rounded to the 10 bits of TF32's mantissa.
__device__ inline float __float_to_tf32(float v) { return __uint_as_float((__float_as_uint(v) + 0x1000u) & ~0x1fffu); }
} // namespace wmma
} // namespace nvcuda
