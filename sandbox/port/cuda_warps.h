// The functions of a warp of 32 lanes. On a wave of 64 the two warps are its halves.
#pragma once
static constexpr int warpSize = 32;
namespace cuda_warp {
__device__ inline unsigned bits(unsigned long long wave) { return static_cast<unsigned>(wave >> (__lane_id() & 32u)); }
__device__ inline int width(int wanted) { return wanted > 32 ? 32 : wanted; }
__device__ inline void sync(unsigned = 0xffffffffu)
{
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_wave_barrier();
}
template <class T> __device__ inline T plain(T v, int lane, int w = 32) { return ::__shfl(v, lane, width(w)); }
template <class T> __device__ inline T plain_up(T v, unsigned d, int w = 32) { return ::__shfl_up(v, d, width(w)); }
template <class T> __device__ inline T plain_down(T v, unsigned d, int w = 32) { return ::__shfl_down(v, d, width(w)); }
template <class T> __device__ inline T plain_xor(T v, int m, int w = 32) { return ::__shfl_xor(v, m, width(w)); }
template <class T> __device__ inline T shfl(unsigned, T v, int lane, int w = 32) { return plain(v, lane, w); }
template <class T> __device__ inline T up(unsigned, T v, unsigned d, int w = 32) { return plain_up(v, d, w); }
template <class T> __device__ inline T down(unsigned, T v, unsigned d, int w = 32) { return plain_down(v, d, w); }
template <class T> __device__ inline T exchange(unsigned, T v, int m, int w = 32) { return plain_xor(v, m, w); }
__device__ inline unsigned plain_ballot(int p) { return bits(::__ballot(p)); }
__device__ inline unsigned ballot(unsigned mask, int p) { return plain_ballot(p) & mask; }
__device__ inline unsigned active() { return plain_ballot(1); }
__device__ inline int all(unsigned mask, int p) { return ballot(mask, !p) == 0; }
__device__ inline int any(unsigned mask, int p) { return ballot(mask, p) != 0; }
__device__ inline int plain_all(int p) { return plain_ballot(!p) == 0; }
__device__ inline int plain_any(int p) { return plain_ballot(p) != 0; }
template <class T> __device__ inline unsigned match_any(unsigned mask, T v)
{
    unsigned same = 0;
    for (int lane = 0; lane < 32; lane++) {
        T other = plain(v, lane);
        if (other == v)
            same |= 1u << lane;
    }
    return same & mask;
}
template <class T> __device__ inline unsigned match_all(unsigned mask, T v, int *every)
{
    *every = match_any(mask, v) == mask;
    return *every ? mask : 0;
}
template <class T, class F> __device__ inline T reduce(unsigned mask, T v, F combine)
{
    T sum = plain(v, __ffs(mask) - 1);
    for (int lane = __ffs(mask); lane < 32; lane++) {
        T other = plain(v, lane);
        if (mask >> lane & 1)
            sum = combine(sum, other);
    }
    return sum;
}
template <class T> __device__ inline T add(unsigned m, T v) { return reduce(m, v, [](T a, T b) { return a + b; }); }
template <class T> __device__ inline T least(unsigned m, T v) { return reduce(m, v, [](T a, T b) { return b < a ? b : a; }); }
template <class T> __device__ inline T most(unsigned m, T v) { return reduce(m, v, [](T a, T b) { return a < b ? b : a; }); }
template <class T> __device__ inline T both(unsigned m, T v) { return reduce(m, v, [](T a, T b) { return a & b; }); }
template <class T> __device__ inline T either(unsigned m, T v) { return reduce(m, v, [](T a, T b) { return a | b; }); }
template <class T> __device__ inline T odd(unsigned m, T v) { return reduce(m, v, [](T a, T b) { return a ^ b; }); }
} // namespace cuda_warp
namespace cooperative_groups {
// The lanes of one warp that are here. HIP's function of that name takes those of the wave.
struct warp_lanes : coalesced_group {
    __device__ explicit warp_lanes(unsigned long long lanes) : coalesced_group(lanes) {}
};
__device__ inline coalesced_group coalesced_lanes_of_warp()
{
    return warp_lanes(::__ballot(1) & (0xffffffffull << (__lane_id() & 32u)));
}
template <class Group, class T> __device__ inline coalesced_group labeled_partition(const Group &, T label)
{
    return warp_lanes(::__match_any(label) & (0xffffffffull << (__lane_id() & 32u)));
}
} // namespace cooperative_groups
