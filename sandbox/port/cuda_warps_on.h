// From here on the functions of a warp are those of cuda_warps.h. No include guard: it undoes cuda_warps_off.h.
#define __shfl_sync(...) cuda_warp::shfl(__VA_ARGS__)
#define __shfl_up_sync(...) cuda_warp::up(__VA_ARGS__)
#define __shfl_down_sync(...) cuda_warp::down(__VA_ARGS__)
#define __shfl_xor_sync(...) cuda_warp::exchange(__VA_ARGS__)
#define __shfl(...) cuda_warp::plain(__VA_ARGS__)
#define __shfl_up(...) cuda_warp::plain_up(__VA_ARGS__)
#define __shfl_down(...) cuda_warp::plain_down(__VA_ARGS__)
#define __shfl_xor(...) cuda_warp::plain_xor(__VA_ARGS__)
#define __ballot_sync(...) cuda_warp::ballot(__VA_ARGS__)
#define __ballot(...) cuda_warp::plain_ballot(__VA_ARGS__)
#define __activemask(...) cuda_warp::active(__VA_ARGS__)
#define __all_sync(...) cuda_warp::all(__VA_ARGS__)
#define __any_sync(...) cuda_warp::any(__VA_ARGS__)
#define __all(...) cuda_warp::plain_all(__VA_ARGS__)
#define __any(...) cuda_warp::plain_any(__VA_ARGS__)
#define __syncwarp(...) cuda_warp::sync(__VA_ARGS__)
#define __match_any_sync(...) cuda_warp::match_any(__VA_ARGS__)
#define __match_all_sync(...) cuda_warp::match_all(__VA_ARGS__)
#define __reduce_add_sync(...) cuda_warp::add(__VA_ARGS__)
#define __reduce_min_sync(...) cuda_warp::least(__VA_ARGS__)
#define __reduce_max_sync(...) cuda_warp::most(__VA_ARGS__)
#define __reduce_and_sync(...) cuda_warp::both(__VA_ARGS__)
#define __reduce_or_sync(...) cuda_warp::either(__VA_ARGS__)
#define __reduce_xor_sync(...) cuda_warp::odd(__VA_ARGS__)
#define coalesced_threads coalesced_lanes_of_warp
#ifdef CUDA_WARP_CUDACC
#define __CUDACC__ 1
#define __NVCC__ 1
#endif
#if defined(__HIP_DEVICE_COMPILE__) && __HIP_DEVICE_COMPILE__
#define __CUDA_ARCH__ 700
#endif
