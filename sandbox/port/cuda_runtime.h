// CUDA's names on HIP, for sources that stay as they are. `cuda_names.h` is made from the installed HIP headers.
// A warp keeps CUDA's 32 lanes: on a wave of 64 it is one half of the wave.
#pragma once
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h> // its structures have members called warpSize, so it comes before the renaming
#define warpSize cuda_warp_hip_wave_size
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>
#include <hip/hip_complex.h>
#include <hip/hip_cooperative_groups.h>
#undef warpSize
#include <algorithm>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
using std::max;
using std::min;
#include "cuda_names.h"
#include "cuda_support.h"
#include "cuda_simd.h"
#include "cuda_warps.h"
#include "cuda_warps_on.h"
