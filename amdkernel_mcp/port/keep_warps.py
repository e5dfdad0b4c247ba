"""The folder of headers with which a CUDA source compiles as it is, with warps of 32 lanes on any wave."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.port.cuda_names import FP8, CudaNames
from amdkernel_mcp.port.translate import DROPPED, LOADS, STORES, cache_hints

FOLDER = "cuda-on-hip"
_ALWAYS = ("cuda.h", "cuda_runtime_api.h", "cuda_fp16.h", "cuda_bf16.h", "cuComplex.h", "math_constants.h")
_HELPERS = ("helper_cuda.h", "helper_functions.h", "helper_string.h", "helper_timer.h", "helper_math_constants.h")
_STAND_INS = {
    "mma.h": "cuda_mma.h",
    "curand.h": "cuda_rand.h",
    "curand_kernel.h": "cuda_rand.h",
    "curand_philox4x32_x.h": "cuda_rand.h",
    "cublas.h": "cuda_blas.h",
    "cublas_v2.h": "cuda_blas.h",
    "cublasLt.h": "cuda_blas_lt.h",
}
"""Our headers in the place of libraries that the sandbox does not have."""
STANDS_IN_FOR = {
    "cuda_mma.h": "nvcuda::wmma by shuffles of ours: MFMA, WMMA or rocWMMA are the fast ways",
    "cuda_rand.h": "cuRAND by a generator of ours: other random numbers; hipRAND is AMD's library",
    "cuda_blas.h": "cuBLAS by plain loops of ours: hipBLAS is AMD's library",
    "cuda_blas_lt.h": "cuBLASLt by plain loops of ours: hipBLASLt is AMD's library",
}
"""What the answer says of each."""
_OWN_SIGNATURE = frozenset(
    [
        "cudaEventCreate",
        "cudaMallocHost",
        "cudaHostAlloc",
        "cudaFuncSetAttribute",
        "cudaFuncSetCacheConfig",
        "cudaFuncGetAttributes",
        "cudaGetDeviceProperties",
        "cudaDeviceGetAttribute",
        "cudaMemPrefetchAsync",
        "cudaMemAdvise",
    ]
)
"""Of cuda_support.h."""
_COOPERATIVE = re.compile(r"cooperative_groups(/(reduce|scan|memcpy_async))?\.h")
_ASYNCHRONOUS = re.compile(r"cuda/(?:pipeline|barrier|atomic)|cuda_pipeline(?:_primitives)?\.h")
_SEEN = {"cuda_warps_seen.h": "cuda_warps.h", "cuda_warps_seen_on.h": "cuda_warps_on.h"}
"""What stands in for the functions of a warp where clang reads a source for the lint."""
_ROUNDED = re.compile(r"\b__(?:[fd](?:add|sub|mul|div|rcp|sqrt)|fmaf?|frsqrt)_r[duz]\b")
_ONE_LINE = "#pragma once\n#include <cuda_runtime.h>\n"
_AROUND = '#pragma once\n#include <cuda_runtime.h>\n#include "cuda_warps_off.h"\n{}#include "cuda_warps_back.h"\n'
_STANDARD = "namespace cuda { namespace std = ::std; }\n"
_THRUST = """#include <cuda_runtime.h>
#ifdef CUDA_THRUST_INSIDE
#include_next <{0}>
#else
#define CUDA_THRUST_INSIDE
#include "cuda_warps_off.h"
#include_next <thrust/detail/config.h>
#include_next <thrust/transform.h>
#include_next <{0}>
#include_next <thrust/execution_policy.h>
#include "cuda_warps_back.h"
#include "cuda_thrust.h"
#undef CUDA_THRUST_INSIDE
#endif
"""
"""Around a header of rocThrust, with two that its headers use without including them. They include each other by these
names, so there is no guard: inside of one, the next is HIP's alone."""
_CUDA_IS_HIP = "#pragma once\nnamespace thrust { namespace cuda = ::thrust::hip; }\n"
_MARKS = """inline int nvtxRangePushA(const char *) { return 0; }
inline int nvtxRangePop() { return 0; }
#define nvtxRangePush nvtxRangePushA
inline void nvtxMarkA(const char *) {}
#define nvtxMark nvtxMarkA
inline void nvtxNameOsThreadA(unsigned, const char *) {}
"""
_CUB = """namespace cub {
using namespace hipcub;
template <class T, int Lanes = 32> using WarpReduce = hipcub::WarpReduce<T, Lanes>;
template <class T, int Lanes = 32> using WarpScan = hipcub::WarpScan<T, Lanes>;
} // namespace cub
#define CubDebug(call) (call)
#define CubDebugExit(call) do { if (call) exit(1); } while (0)
"""


def header_files(names: CudaNames, includes: Iterable[str], *, identifiers: Iterable[str]) -> dict[str, bytes]:
    """The files of the folder by their paths in it.

    includes: what the program includes of others. identifiers: all that it names, for names of CUDA that differ from
    HIP's by the case of letters.
    """
    place = folder("sandbox") / "port"
    found = {each.name: each.read_text() for each in sorted(place.glob("*.h"))}
    helper = found.pop("helper_cuda.h")
    cooperative = found.pop("cooperative_reduce.h")
    asynchronous = found.pop("cuda_async.h")
    for name in _SEEN:
        del found[name]
    libraries = {name: found.pop(name) for name in (*STANDS_IN_FOR, "cuda_blas_vectors.h", "cuda_vector_math.h")}
    table = dict(names.table)
    table |= {name: hip for name in identifiers if name.startswith("cuda") and (hip := names.hip(name))}
    pairs = sorted((cuda, hip) for cuda, hip in table.items() if cuda not in _OWN_SIGNATURE)
    found["cuda_names.h"] = "#pragma once\n" + "".join(f"#define {cuda} {hip}\n" for cuda, hip in pairs)
    found["cuda_simd.h"] += cache_hints((*LOADS, *STORES))
    for name in (*_ALWAYS, *sorted(DROPPED)):
        found.setdefault(name, _ONE_LINE)
    for name in includes:
        if name.startswith("cub/"):
            found[name] = _ONE_LINE + '#include "cuda_cub.h"\n'
            found["cuda_cub.h"] = _AROUND.format("#include <hipcub/hipcub.hpp>\n") + _CUB
        elif name.startswith("thrust/"):
            found[name] = _THRUST.format(name)
            found["cuda_thrust.h"] = _CUDA_IS_HIP
        elif _COOPERATIVE.fullmatch(name):
            found[name] = _ONE_LINE
            if name != "cooperative_groups.h":
                found[name] += '#include "cooperative_reduce.h"\n'
                found["cooperative_reduce.h"] = cooperative
        elif name.rpartition("/")[2] in _HELPERS:
            found[name.rpartition("/")[2]] = _ONE_LINE + '#include "cuda_helpers.h"\n'
            found["cuda_helpers.h"] = helper
        elif name in _STAND_INS:
            ours = _STAND_INS[name]
            found[name] = f'{_ONE_LINE}#include "{ours}"\n'
            found |= {each: text for each, text in libraries.items() if each[:9] == ours[:9]}
        elif name.rpartition("/")[2] == "helper_math.h":
            found["helper_math.h"] = _ONE_LINE + libraries["cuda_vector_math.h"]
        elif _ASYNCHRONOUS.fullmatch(name):
            found[name] = _ONE_LINE + '#include <atomic>\n#include "cuda_async.h"\n'
            found["cuda_async.h"] = asynchronous
        elif name == "cuda_fp8.h":
            found[name] = f"{_ONE_LINE}#include <hip/hip_fp8.h>\n" + "".join(
                f"#define {cuda} {hip}\n" for cuda, hip in FP8.items()
            )
        elif name.startswith("cuda/std/"):
            found[name] = f"{_ONE_LINE}#include <{name.removeprefix('cuda/std/')}>\n{_STANDARD}"
        elif name.startswith("nvtx3/"):
            found[name] = f'{_ONE_LINE}#include "../nvToolsExt.h"\n'
    found["nvToolsExt.h"] = _ONE_LINE + _MARKS
    return {f"{FOLDER}/{name}": text.encode() for name, text in found.items()}


def seen_headers() -> dict[str, bytes]:
    """The functions of a warp with the types of a wave of 64, in the place of those of `header_files`."""
    place = folder("sandbox") / "port"
    return {f"{FOLDER}/{name}": (place / ours).read_bytes() for ours, name in _SEEN.items()}


def stand_ins(includes: Iterable[str]) -> list[str]:
    """What stands in for a library of NVIDIA, a sentence for each."""
    return [STANDS_IN_FOR[each] for each in dict.fromkeys(_STAND_INS[name] for name in includes if name in _STAND_INS)]


def flags_for(texts: Sequence[str]) -> tuple[str, ...]:
    """Compiler flags with which these sources are read as nvcc reads them."""
    flags = ["-include", "cuda_runtime.h"]
    if any("__CUDACC__" in text or "__NVCC__" in text for text in texts):
        flags.append("-DCUDA_WARP_CUDACC")
    if any(_ROUNDED.search(text) for text in texts):
        flags.append("-DOCML_BASIC_ROUNDED_OPERATIONS")  # HIP has them only then
    return tuple(flags)
