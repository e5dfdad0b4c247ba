"""CUDA's names as HIP's, from the identifiers of the installed HIP headers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

LIST_NAMES = r"""
for include in "${ROCM_PATH:-/nowhere}/include" /opt/rocm/include /usr/include; do
    [ -r "$include/hip/hip_runtime.h" ] && break
done
cd "$include" || exit 2
grep -rhoE '\b(hip[A-Z][A-Za-z0-9_]*|HIP_[A-Z0-9_]+)' hip | LC_ALL=C sort -u > "$OUT/names"
find hip hipcub thrust hiprand hipblas rocwmma -name '*.h' -o -name '*.hpp' 2>/dev/null | LC_ALL=C sort > "$OUT/headers"
"""
"""The script that lists them in a compile sandbox: `names` and `headers`, one a line."""

# Where the two do not differ by the prefix alone.  Source: the CUDA Runtime API and the HIP headers, name by name.
_OTHERS = {
    "cudaDeviceProp": "hipDeviceProp_t",
    "cudaError": "hipError_t",
    "cudaThreadSynchronize": "hipDeviceSynchronize",
    "cudaThreadExit": "hipDeviceReset",
    "cudaThreadSetLimit": "hipDeviceSetLimit",
    "cudaThreadSetCacheConfig": "hipDeviceSetCacheConfig",
    "cudaMallocHost": "hipHostMalloc",
    "cudaHostAlloc": "hipHostMalloc",
    "cudaFreeHost": "hipHostFree",
    "cudaHostAllocDefault": "hipHostMallocDefault",
    "cudaHostAllocMapped": "hipHostMallocMapped",
    "cudaHostAllocPortable": "hipHostMallocPortable",
    "cudaHostAllocWriteCombined": "hipHostMallocWriteCombined",
    "cudaErrorMemoryAllocation": "hipErrorOutOfMemory",
    "cudaErrorInvalidMemcpyDirection": "hipErrorInvalidMemcpyDirection",
    "cudaErrorCudartUnloading": "hipErrorDeinitialized",
    "cudaErrorInitializationError": "hipErrorNotInitialized",
    "cudaErrorInvalidResourceHandle": "hipErrorInvalidHandle",
    "cudaErrorLaunchFailure": "hipErrorLaunchFailure",
    "cudaErrorLaunchTimeout": "hipErrorLaunchTimeOut",
    "cudaSharedMemConfig": "hipSharedMemConfig",
    "cudaFuncCache": "hipFuncCache_t",
    "cudaIpcMemHandle_t": "hipIpcMemHandle_t",
    "cudaStreamCaptureModeGlobal": "hipStreamCaptureModeGlobal",
    "cudaExecutionPolicy": "hipExecutionPolicy",
    "cudaDevAttrComputeMode": "hipDeviceAttributeComputeMode",
    "cudaDataType_t": "hipDataType",
    "cudaDataType": "hipDataType",
    "cudaProfilerStart": "hipProfilerStart",
    "cudaProfilerStop": "hipProfilerStop",
    "cuInit": "hipInit",
    "cuDeviceGet": "hipDeviceGet",
    "cuDeviceGetCount": "hipGetDeviceCount",
    "CUdeviceptr": "hipDeviceptr_t",
    "CUdevice": "hipDevice_t",
    "CUcontext": "hipCtx_t",
    "CUmodule": "hipModule_t",
    "CUfunction": "hipFunction_t",
    "CUstream": "hipStream_t",
    "CUevent": "hipEvent_t",
    "CUresult": "hipError_t",
    "CUDA_SUCCESS": "hipSuccess",
}
FP8 = {
    **{
        f"__nv_{name}": f"__hip_{name}"
        for size in ("", "x2", "x4")
        for name in (f"fp8{size}_e4m3", f"fp8{size}_e5m2", f"fp8{size}_storage_t")
    },
    **{
        f"__nv_cvt_{each}_to_{fp8}": f"__hip_cvt_{each}_to_{fp8}"
        for fp8, of in (
            ("fp8", ("float", "double", "halfraw", "bfloat16raw")),
            ("fp8x2", ("float2", "double2", "halfraw2", "bfloat16raw2")),
        )
        for each in of
    },
    "__nv_cvt_fp8_to_halfraw": "__hip_cvt_fp8_to_halfraw",
    "__nv_cvt_fp8x2_to_halfraw2": "__hip_cvt_fp8x2_to_halfraw2",
    "__nv_fp8_interpretation_t": "__hip_fp8_interpretation_t",
    "__nv_saturation_t": "__hip_saturation_t",
    **{f"__NV_{name}": f"__HIP_{name}" for name in ("E4M3", "E5M2", "SATFINITE", "NOSAT")},
}
"""Of cuda_fp8.h, by hip_fp8.h."""
_TYPES = {
    **FP8,
    "__nv_bfloat16": "__hip_bfloat16",
    "__nv_bfloat162": "__hip_bfloat162",
    "__nv_bfloat16_raw": "__hip_bfloat16_raw",
    "__nv_bfloat162_raw": "__hip_bfloat162_raw",
    "nv_bfloat16": "__hip_bfloat16",
    "__float2bfloat16_rn": "__float2bfloat16",
    "__trap": "__builtin_trap",
    "nv_bfloat162": "__hip_bfloat162",
    "cuComplex": "hipFloatComplex",
    "cuFloatComplex": "hipFloatComplex",
    "cuDoubleComplex": "hipDoubleComplex",
    **{
        f"{prefix}{name}": f"{hip}{name}"
        for prefix, hip in (("cuC", "hipC"),)
        for name in ("mul", "mulf", "add", "addf", "sub", "subf", "div", "divf", "abs", "absf", "real", "realf")
    },
    **{f"cuC{name}": f"hipC{name}" for name in ("imag", "imagf")},
    "cuConj": "hipConj",
    "cuConjf": "hipConjf",
    "make_cuComplex": "make_hipFloatComplex",
    "make_cuFloatComplex": "make_hipFloatComplex",
    "make_cuDoubleComplex": "make_hipDoubleComplex",
}
_LIBRARY = re.compile(r"(cublas|curand|cufft|cusparse)((?:Lt)?[A-Z_]\w*)?|(CUBLAS|CURAND|CUFFT|CUSPARSE)(_\w+)")
_MADE = ("Extent", "Pos", "PitchedPtr")
_ATTRIBUTE = ("cudaDevAttr", "hipDeviceAttribute")
_CUDA = re.compile(r"cuda[A-Z]\w*")


@dataclass(frozen=True)
class CudaNames:
    """What HIP calls CUDA's names. `identifiers` and `headers`: of the installed HIP headers."""

    identifiers: frozenset[str]
    headers: frozenset[str] = frozenset()
    table: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, identifiers: Iterable[str], headers: Iterable[str] = ()) -> CudaNames:
        """The table over these identifiers: only names that HIP has."""
        found = frozenset(identifiers)
        table = {f"cuda{name[3:]}": name for name in found if name.startswith("hip") and name[3:4].isupper()}
        cuda, hip = _ATTRIBUTE
        table |= {cuda + name.removeprefix(hip): name for name in found if name.startswith(hip) and name != hip}
        table |= {f"CUDA_{name.removeprefix('HIP_')}": name for name in found if name.startswith("HIP_R_")}
        table |= {f"make_cuda{name}": f"make_hip{name}" for name in _MADE}
        table |= {cuda: hip for cuda, hip in _OTHERS.items() if hip in found}
        return cls(found, frozenset(headers), table)

    def hip(self, name: str) -> str | None:
        """HIP's name, None where it has none. Where the two differ by letters' case, that of HIP."""
        known = self.table.get(name) or _TYPES.get(name)
        if library := _LIBRARY.fullmatch(name):  # these four have CUDA's names behind another prefix
            small, rest, large, constant = library.groups()
            return f"hip{small[2:]}{rest or ''}" if small else f"HIP{large[2:]}{constant}"
        if known or not _CUDA.fullmatch(name):
            return known
        wanted = name.replace(*_ATTRIBUTE) if name.startswith(_ATTRIBUTE[0]) else f"hip{name[4:]}"
        return self._by_small_letters.get(wanted.lower())

    @cached_property
    def _by_small_letters(self) -> dict[str, str]:
        return {name.lower(): name for name in sorted(self.identifiers)}

    def missing(self, identifiers: Iterable[str]) -> list[str]:
        """Names of CUDA's runtime among `identifiers` that HIP does not have."""
        return sorted({name for name in identifiers if _CUDA.fullmatch(name) and self.hip(name) is None})
