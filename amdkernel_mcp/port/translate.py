"""Readable HIP source from CUDA source: names and includes, and what HIP refuses as CUDA writes it."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from amdkernel_mcp.port.constants import Constants
from amdkernel_mcp.port.cuda_names import CudaNames
from amdkernel_mcp.port.tokens import Token, arguments, read_tokens

FULL_MASK = "0xffffffffffffffffull"
WITH_MASK = re.compile(r"__(?:shfl(?:_up|_down|_xor)?|ballot|all|any|match_any|match_all|reduce_\w+)_sync|__syncwarp")
"""Functions whose first argument is a mask of lanes."""
_64_BIT = ("__activemask", "__ballot", "__ballot_sync", "__match_any_sync")
LOADS = ("__ldca", "__ldcg", "__ldcs", "__ldcv", "__ldlu")
STORES = ("__stcg", "__stcs", "__stwb", "__stwt")
_NEEDS_POINTER = {"hipFuncSetAttribute": 0, "hipFuncSetCacheConfig": 0, "hipFuncGetAttributes": 1}
_NEEDS_SYMBOL = re.compile(r"cudaMemcpy(?:To|From)Symbol(?:Async)?|cudaGetSymbol(?:Address|Size)")
_HIP_HEADER = {
    "cuda.h": "hip/hip_runtime.h",
    "cuda_runtime.h": "hip/hip_runtime.h",
    "cuda_runtime_api.h": "hip/hip_runtime_api.h",
    "cuda_fp16.h": "hip/hip_fp16.h",
    "cuda_fp16.hpp": "hip/hip_fp16.h",
    "cuda_bf16.h": "hip/hip_bf16.h",
    "cuda_fp8.h": "hip/hip_fp8.h",
    "cuComplex.h": "hip/hip_complex.h",
    "cooperative_groups.h": "hip/hip_cooperative_groups.h",
    "vector_types.h": "hip/hip_vector_types.h",
    "math_constants.h": "hip/hip_math_constants.h",
    "library_types.h": "hip/library_types.h",
    "curand.h": "hiprand/hiprand.h",
    "curand_kernel.h": "hiprand/hiprand_kernel.h",
    "curand_philox4x32_x.h": "hiprand/hiprand_kernel.h",
    "cublas.h": "hipblas/hipblas.h",
    "cublas_v2.h": "hipblas/hipblas.h",
    "cublasLt.h": "hipblaslt/hipblaslt.h",
    "cufft.h": "hipfft/hipfft.h",
    "cufftXt.h": "hipfft/hipfftXt.h",
    "cusparse.h": "hipsparse/hipsparse.h",
    "mma.h": "rocwmma/rocwmma.hpp",
}
DROPPED = frozenset(
    [
        "device_launch_parameters.h",
        "device_functions.h",
        "cuda_profiler_api.h",
        "driver_types.h",
        "host_defines.h",
        "vector_functions.h",
        "sm_60_atomic_functions.h",
        "sm_20_atomic_functions.h",
        "sm_35_intrinsics.h",
        "device_atomic_functions.h",
        "nvToolsExt.h",
        "driver_functions.h",
        "math_functions.h",
        "texture_types.h",
        "crt/host_defines.h",
        "device_types.h",
        "builtin_types.h",
        "cuda_device_runtime_api.h",
        "cudaProfiler.h",
        "cuda_texture_types.h",
        "cuda_surface_types.h",
        "texture_fetch_functions.h",
        "sm_61_intrinsics.h",
        "sm_32_intrinsics.h",
        "sm_30_intrinsics.h",
    ]
)
"""Headers whose content is in hip_runtime.h, or that do nothing on an AMD GPU."""
_OF_NVCC = {
    "__CUDACC__": "__HIPCC__",
    "__NVCC__": "__HIPCC__",
    "__DRIVER_TYPES_H__": "HIP_INCLUDE_HIP_HIP_RUNTIME_API_H",
    "__CUDA_RUNTIME_H__": "HIP_INCLUDE_HIP_HIP_RUNTIME_H",
    "__grid_constant__": "",
    "atomicInc_system": "atomicInc",
    "atomicDec_system": "atomicDec",
}
"""Of the compiler and of guards that helpers ask for; HIP has one scope for these two atomics."""
_OF_STRINGS = frozenset(["memset", "memcpy", "memcmp", "strlen", "strcmp", "strncmp", "strdup", "strcpy"])
_STRINGS = re.compile(r"string\.h|cstring|memory\.h")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)


@dataclass(frozen=True)
class Change:
    """Something that was changed beyond a name: how often, and on which line first."""

    what: str
    times: int
    line: int


@dataclass(frozen=True)
class Translated:
    """HIP source, the changes beyond names, and what of CUDA's runtime has no name in HIP."""

    text: str
    changes: tuple[Change, ...]
    missing: tuple[str, ...]


def included(text: str) -> list[str]:
    """The headers that a source includes, as it names them."""
    return [match.group(2) for match in _INCLUDE.finditer(text)]


def translate(text: str, names: CudaNames, *, own_headers: Sequence[str] = (), masks: bool = True) -> Translated:
    """`text` as HIP. own_headers: the program's own files, whose names stay. masks: of lanes, for whole waves."""
    tokens = read_tokens(text)
    work = _Edits()
    _includes(text, tokens, work, own_headers)
    _names(tokens, names, work)
    if masks:
        _masks(tokens, work)
    _pointers(tokens, names, work)
    for token in tokens:
        if token.kind == "name" and token.text == "register" and not token.directive:
            work.replace(token.start, token.end, "", "`register` removed: C++17 has none", token.line)
    missing = names.missing(token.text for token in tokens if token.kind == "name")
    hints = cache_hints(token.text for token in tokens if token.kind == "name")
    start = "#include <hip/hip_runtime.h>\n"
    words = {token.text for token in tokens if token.kind == "name"}
    if words & _OF_STRINGS and not any(_STRINGS.fullmatch(name) for name in included(text)):
        hints = f"#include <string.h>\n{hints}"  # nvcc brings it along
    return Translated(work.applied(text).replace(start, start + hints, 1), work.changes(), tuple(missing))


def cache_hints(identifiers: Iterable[str]) -> str:
    """Definitions of those of CUDA's loads and stores with a hint about caches that HIP lacks, as plain ones."""
    used = set(identifiers)
    loads = "template <class T> __device__ inline T {}(const T *p) {{ return *p; }}\n"
    stores = "template <class T, class V> __device__ inline void {}(T *p, V v) {{ *p = v; }}\n"
    lines = [loads.format(name) for name in LOADS if name in used]
    return "".join([*lines, *(stores.format(name) for name in STORES if name in used)])


def diff(before: str, after: str, file_name: str) -> str:
    """What changed, as a unified diff with one line of context."""
    pairs = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(*pairs, file_name, hip_name(file_name), n=1))


def hip_name(file_name: str) -> str:
    """What a translated file is called: .cu becomes .hip."""
    return re.sub(r"\.cu$", ".hip", file_name)


class _Edits:
    """Replacements by offset, each once; counts those that are more than a name."""

    def __init__(self) -> None:
        self._by_start: dict[int, tuple[int, str]] = {}
        self._counted: Counter[str] = Counter()
        self._first: dict[str, int] = {}

    def replace(self, start: int, end: int, by: str, what: str = "", line: int = 0) -> None:
        if start in self._by_start and end > start:
            return
        end_before, before = self._by_start.get(start, (end, ""))
        self._by_start[start] = (max(end, end_before), by + before)
        if what:
            self._counted[what] += 1
            self._first.setdefault(what, line)

    def applied(self, text: str) -> str:
        parts, done = [], 0
        for start, (end, by) in sorted(self._by_start.items()):
            if start >= done:
                parts += [text[done:start], by]
                done = end
        return "".join([*parts, text[done:]])

    def changes(self) -> tuple[Change, ...]:
        return tuple(Change(what, times, self._first[what]) for what, times in self._counted.most_common())


def _includes(text: str, tokens: Sequence[Token], work: _Edits, own: Sequence[str]) -> None:
    live = {token.start for token in tokens if token.text == "#"}
    seen: set[str] = set()
    first = None
    for match in _INCLUDE.finditer(text):
        hash_at = match.start() + match.group().index("#")
        name = match.group(2)
        if hash_at not in live or name in own or name.rpartition("/")[2] in own:
            continue
        line = text.count("\n", 0, match.start()) + 1
        first = first if first is not None else match.start()
        hip = _HIP_HEADER.get(name)
        if name.startswith("cub/"):
            hip = "hipcub/hipcub.hpp"
            work.replace(match.start(), match.end(), _once(seen, hip), "`cub` is `hipcub`", line)
        elif name in DROPPED:
            work.replace(match.start(), match.end(), "", f"`{name}` left out: hip_runtime.h has it", line)
        elif hip:
            work.replace(match.start(), match.end(), _once(seen, hip))
    if "hip/hip_runtime.h" not in seen:
        place = first or 0
        added = "#include <hip/hip_runtime.h>\n"
        work.replace(
            place, place, added, "hip_runtime.h included: nvcc does it unasked", text.count("\n", 0, place) + 1
        )


def _once(seen: set[str], header: str) -> str:
    if header in seen:
        return ""
    seen.add(header)
    return f"#include <{header}>"


def _names(tokens: Sequence[Token], names: CudaNames, work: _Edits) -> None:
    for place, token in enumerate(tokens):
        if token.kind != "name" or token.directive == "include":
            continue
        following = tokens[place + 1].text if place + 1 < len(tokens) else ""
        if token.text == "cub" and following == "::":
            work.replace(token.start, token.end, "hipcub")
        elif token.text == "nvcuda" and [each.text for each in tokens[place + 1 : place + 3]] == ["::", "wmma"]:
            work.replace(token.start, tokens[place + 2].end, "rocwmma", "`nvcuda::wmma` is `rocwmma`", token.line)
        elif token.text == "nvcuda" and [each.text for each in tokens[max(0, place - 2) : place]] == [
            "using",
            "namespace",
        ]:
            start = tokens[place - 2].start
            work.replace(start, token.end, "namespace wmma = rocwmma", "`nvcuda::wmma` is `rocwmma`", token.line)
        elif token.text in _OF_NVCC:
            work.replace(token.start, token.end, _OF_NVCC[token.text])
        elif hip := names.hip(token.text):
            work.replace(token.start, token.end, hip)


def _masks(tokens: Sequence[Token], work: _Edits) -> None:
    """HIP refuses a mask of less than 64 bits. For all lanes, its functions without a mask do the same."""
    constants = Constants(tokens)
    for place, token in enumerate(tokens[:-1]):
        if not WITH_MASK.fullmatch(token.text) or tokens[place + 1].text != "(":
            continue
        given = arguments(tokens, place + 1)
        if not given:
            continue
        begin, end = given[0]
        first, last = tokens[begin], tokens[end - 1]
        value = constants.value(tokens[begin:end])
        if value is not None and value & 0xFFFFFFFF == 0xFFFFFFFF:
            what = "mask of all lanes left out: HIP's function for the whole wave"
            if "_reduce_" in token.text:
                what = "mask of all lanes written in 64 bits"
                work.replace(first.start, last.end, FULL_MASK, what, token.line)
            else:
                rest = tokens[given[1][0]].start if len(given) > 1 else last.end
                work.replace(token.start, token.end, token.text.removesuffix("_sync"))
                work.replace(first.start, rest, "", what, token.line)
        elif first.text not in _64_BIT:
            what = "mask of lanes cast to 64 bits"
            work.replace(first.start, first.start, "(unsigned long long)(", what, token.line)
            work.replace(last.end, last.end, ")")


def _pointers(tokens: Sequence[Token], names: CudaNames, work: _Edits) -> None:
    """HIP takes the address of a kernel as `const void*`, and a symbol through a macro."""
    for place, token in enumerate(tokens[:-1]):
        if tokens[place + 1].text != "(" or token.directive == "define":
            continue
        given = arguments(tokens, place + 1)
        kernel = _NEEDS_POINTER.get(names.hip(token.text) or "")
        if kernel is not None and len(given) > kernel:
            begin, end = given[kernel]
            before, what = "reinterpret_cast<const void*>(", "kernel passed as const void*"
        elif _NEEDS_SYMBOL.fullmatch(token.text) and given:
            begin, end = given["GetSymbol" in token.text]
            before, what = "HIP_SYMBOL(", "symbol passed through HIP_SYMBOL"
        else:
            continue
        if tokens[begin].text in ("(", "reinterpret_cast", "&"):
            continue
        start = tokens[begin].start
        name = names.hip(tokens[begin].text)
        if name is None:
            work.replace(start, start, before, what, token.line)
            work.replace(tokens[end - 1].end, tokens[end - 1].end, ")")
