// cooperative_groups/reduce.h, scan.h and memcpy_async.h, which HIP lacks: by shuffles, and copies that are done at once.
#pragma once
namespace cooperative_groups {
template <class T> struct plus { __device__ T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { __device__ T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { __device__ T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { __device__ T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { __device__ T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { __device__ T operator()(T a, T b) const { return a ^ b; } };
// The value of a lane, of any type that may be copied; HIP's shuffles take numbers alone.
template <class Group, class T> __device__ inline T of_lane(const Group &group, const T &v, unsigned lane)
{
    unsigned words[(sizeof(T) + 3) / 4] = {};
    __builtin_memcpy(words, &v, sizeof(T));
    for (unsigned &word : words)
        word = group.shfl(word, lane);
    T other = v;
    __builtin_memcpy(&other, words, sizeof(T));
    return other;
}
template <class Group, class T, class F> __device__ inline T reduce(const Group &group, T v, F combine)
{
    T sum = of_lane(group, v, 0);
    for (unsigned lane = 1; lane < group.size(); lane++)
        sum = combine(sum, of_lane(group, v, lane));
    return sum;
}
template <class Group, class T, class F> __device__ inline T inclusive_scan(const Group &group, T v, F combine)
{
    T sum = v;
    for (unsigned lane = group.size(); lane-- > 0;) {
        T other = of_lane(group, v, lane);
        if (lane < group.thread_rank())
            sum = combine(other, sum);
    }
    return sum;
}
template <class Group, class T> __device__ inline T inclusive_scan(const Group &group, T v)
{
    return inclusive_scan(group, v, plus<T>());
}
template <class Group, class T, class F> __device__ inline T exclusive_scan(const Group &group, T v, F combine)
{
    T sum = inclusive_scan(group, v, combine);
    T before = group.shfl_up(sum, 1);
    return group.thread_rank() ? before : T();
}
template <class Group, class T> __device__ inline T exclusive_scan(const Group &group, T v)
{
    return exclusive_scan(group, v, plus<T>());
}
template <class Group, class T, class S>
__device__ inline void memcpy_async(const Group &group, T *to, const S *from, size_t bytes)
{
    for (size_t i = group.thread_rank(); i < bytes; i += group.size())
        reinterpret_cast<char *>(to)[i] = reinterpret_cast<const char *>(from)[i];
}
template <class Group> __device__ inline void wait(const Group &group) { group.sync(); }
} // namespace cooperative_groups
