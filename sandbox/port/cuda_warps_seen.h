// For clang's syntax tree alone, in the place of cuda_warps.h: the functions of a warp with the types that they have on
// a wave of 64. They have no body: nothing is built with this header. They are names, no calls, so that a call keeps
// its line.
#pragma once
static constexpr int warpSize = 64;
typedef unsigned long long cuda_seen_lanes;
template <class T> __device__ T cuda_seen__shfl_sync(cuda_seen_lanes, T v, int lane, int width = warpSize);
template <class T> __device__ T cuda_seen__shfl_up_sync(cuda_seen_lanes, T v, unsigned d, int width = warpSize);
template <class T> __device__ T cuda_seen__shfl_down_sync(cuda_seen_lanes, T v, unsigned d, int width = warpSize);
template <class T> __device__ T cuda_seen__shfl_xor_sync(cuda_seen_lanes, T v, int m, int width = warpSize);
__device__ cuda_seen_lanes cuda_seen__ballot_sync(cuda_seen_lanes, int p);
__device__ int cuda_seen__all_sync(cuda_seen_lanes, int p);
__device__ int cuda_seen__any_sync(cuda_seen_lanes, int p);
__device__ void cuda_seen__syncwarp(cuda_seen_lanes = ~0ull);
template <class T> __device__ cuda_seen_lanes cuda_seen__match_any_sync(cuda_seen_lanes, T v);
template <class T> __device__ cuda_seen_lanes cuda_seen__match_all_sync(cuda_seen_lanes, T v, int *every);
template <class T> __device__ T cuda_seen__reduce_add_sync(cuda_seen_lanes, T v);
template <class T> __device__ T cuda_seen__reduce_min_sync(cuda_seen_lanes, T v);
template <class T> __device__ T cuda_seen__reduce_max_sync(cuda_seen_lanes, T v);
template <class T> __device__ T cuda_seen__reduce_and_sync(cuda_seen_lanes, T v);
template <class T> __device__ T cuda_seen__reduce_or_sync(cuda_seen_lanes, T v);
template <class T> __device__ T cuda_seen__reduce_xor_sync(cuda_seen_lanes, T v);
namespace cooperative_groups {
template <class Group, class T> __device__ coalesced_group labeled_partition(const Group &, T label);
}
