// In the place of cuda_warps_on.h, for clang's syntax tree alone.
#define __shfl_sync cuda_seen__shfl_sync
#define __shfl_up_sync cuda_seen__shfl_up_sync
#define __shfl_down_sync cuda_seen__shfl_down_sync
#define __shfl_xor_sync cuda_seen__shfl_xor_sync
#define __ballot_sync cuda_seen__ballot_sync
#define __all_sync cuda_seen__all_sync
#define __any_sync cuda_seen__any_sync
#define __syncwarp cuda_seen__syncwarp
#define __match_any_sync cuda_seen__match_any_sync
#define __match_all_sync cuda_seen__match_all_sync
#define __reduce_add_sync cuda_seen__reduce_add_sync
#define __reduce_min_sync cuda_seen__reduce_min_sync
#define __reduce_max_sync cuda_seen__reduce_max_sync
#define __reduce_and_sync cuda_seen__reduce_and_sync
#define __reduce_or_sync cuda_seen__reduce_or_sync
#define __reduce_xor_sync cuda_seen__reduce_xor_sync
#ifdef CUDA_WARP_CUDACC
#define __CUDACC__ 1
#define __NVCC__ 1
#endif
#if defined(__HIP_DEVICE_COMPILE__) && __HIP_DEVICE_COMPILE__
#define __CUDA_ARCH__ 700
#endif
