"""What the lint reports: its classes, what each says, and the way on AMD GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["sure", "look"]


@dataclass(frozen=True)
class LintClass:
    """A class of mistakes. `wave`: it depends on how many lanes a wave has. `section`: of docs/from_cuda.md."""

    sentence: str
    instead: str
    section: str
    wave: bool = False


_MASKS, _SHUFFLES, _LANES, _BALLOTS = "masks", "shuffles", "lanes-and-warps", "ballots"
_SYNC, _GROUPS, _PTX, _MATRIX = "warps-in-step", "cooperative-groups", "inline-ptx", "matrix-and-asynchronous-copies"
_LIMITS, _OTHER = "limits-of-a-kernel", "textures-and-libraries"

CLASSES: dict[str, LintClass] = {
    "mask": LintClass(
        "HIP refuses a mask of 32 bits, and 32 bits name half of the lanes of a wave of 64",
        "for all lanes the function without a mask, such as __shfl_down(); else a mask of 64 bits",
        _MASKS, wave=True,
    ),
    "shuffle_width": LintClass(
        "the shuffle has no width and its tree or lane is for 32 lanes: in whole waves half is lost or two warps mix",
        "the width 32 as last argument, or a tree that begins at warpSize / 2",
        _SHUFFLES, wave=True,
    ),
    "lane31": LintClass(
        "the lane is computed with 32: on a wave of 64, lane 32 is taken for lane 0",
        "threadIdx.x % warpSize, or shuffles and ballots of width 32",
        _LANES, wave=True,
    ),
    "warp5": LintClass(
        "the warp is computed with 32: a wave of 64 is counted as two warps",
        "threadIdx.x / warpSize, or shuffles and ballots of width 32",
        _LANES, wave=True,
    ),
    "ballot32": LintClass(
        "a bit for each of up to 64 lanes is kept in 32 bits: the upper half of the wave is lost",
        "unsigned long long",
        _BALLOTS, wave=True,
    ),
    "popc32": LintClass(
        "it counts or finds bits in 32 bits of a ballot that has 64",
        "__popcll, __ffsll, __clzll",
        _BALLOTS, wave=True,
    ),
    "lanemask32": LintClass(
        "the mask of the lanes below is made in 32 bits: from lane 32 on the shift is undefined",
        "(1ull << lane) - 1, or __lanemask_lt() in 64 bits",
        _BALLOTS, wave=True,
    ),
    "warp_const": LintClass(
        "the size of a warp is a constant of 32: waves of CDNA have 64 lanes, those of RDNA 32",
        "warpSize, which is known when the kernel is compiled for its GPU",
        _LANES, wave=True,
    ),
    "warp_mix": LintClass(
        "warps are counted with warpSize and, in the same function, with 32: on a wave of 64 these two differ",
        "warpSize in both, or 32 in both with shuffles and ballots of width 32",
        _LANES, wave=True,
    ),
    "warp_size_constant": LintClass(
        "warpSize is used as a constant: in HIP it is none on the host, and on the GPU it differs",
        "64 as the upper limit of arrays, warpSize in expressions",
        _LANES, wave=True,
    ),
    "warp_sync": LintClass(
        "lanes of one warp exchange values in LDS without a barrier: nothing orders this in the compiler",
        "__syncthreads() or __syncwarp() between the steps, or shuffles",
        _SYNC, wave=True,
    ),
    "syncwarp_diverged": LintClass(
        "__syncwarp in a branch that only some lanes take: the mask names lanes that do not come",
        "the barrier outside of the branch",
        _SYNC, wave=True,
    ),
    "half_warp": LintClass(
        "it works with half warps of 16 lanes",
        "shuffles of width 16; nothing else has half warps",
        _LANES, wave=True,
    ),
    "scheduling": LintClass(
        "a lane waits for another lane that may be in its wave: a wave does not promise that the other one continues",
        "one lane of the wave waits and the others follow it, or the lock is taken for one wave at a time",
        _SYNC,
    ),
    "tile": LintClass(
        "the group has as many lanes as a wave: up to 64 here, and its masks have 64 bits",
        "tiled_partition<32>, which is 32 on any wave",
        _GROUPS, wave=True,
    ),
    "coop_reduce": LintClass(
        "HIP has no such header and no such function of cooperative groups",
        "a tree of tile.shfl_down, or hipcub::WarpReduce; --keep-warps brings these functions",
        _GROUPS,
    ),
    "ptx": LintClass("inline PTX: no AMD compiler reads it", "the HIP function or the AMDGCN builtin", _PTX),
    "async_copy": LintClass(
        "an asynchronous copy to shared memory: HIP has no such function",
        "plain loads into registers before the barrier; on gfx950 __builtin_amdgcn_global_load_lds",
        _MATRIX,
    ),
    "matrix": LintClass(
        "matrix instructions of NVIDIA",
        "MFMA on CDNA, WMMA on RDNA: the builtins, or rocWMMA",
        _MATRIX,
    ),
    "tma": LintClass(
        "the tensor memory accelerator and warp groups of NVIDIA: no AMD GPU has them",
        "loads to LDS and MFMA by each wave",
        _MATRIX,
    ),
    "texture": LintClass(
        "textures and surfaces: CDNA GPUs have no units for them, and HIP has no texture references",
        "plain loads with __restrict__ const pointers; filters and borders by hand",
        _OTHER,
    ),
    "launch_bounds": LintClass(
        "the second number of __launch_bounds__ counts blocks of a multiprocessor in CUDA and waves of a SIMD in HIP",
        "blocks * threads / wave size / 4 SIMDs, rounded up",
        _LIMITS,
    ),
    "dynamic_lds": LintClass(
        "it asks for dynamic shared memory beyond 48 KiB: a workgroup has 64 KiB of LDS, on gfx950 160 KiB",
        "smaller tiles, or a part of the data in registers",
        _LIMITS,
    ),
    "library": LintClass("a library of NVIDIA", "AMD's library of the same purpose", _OTHER),
    "dynamic_parallelism": LintClass(
        "a kernel launches a kernel: HIP has no dynamic parallelism",
        "a launch from the host, or a loop in one kernel",
        _OTHER,
    ),
}  # fmt: skip

PTX_WAYS = {
    "laneid": "__lane_id()",
    "lanemask_lt": "__lanemask_lt()",
    "lanemask_le": "__lanemask_le()",
    "lanemask_gt": "__lanemask_gt()",
    "warpid": "threadIdx.x / warpSize",
    "smid": "__smid()",
    "clock": "clock64() or wall_clock64()",
    "globaltimer": "wall_clock64()",
    "membar": "__threadfence(), __threadfence_block() or __threadfence_system()",
    "fence": "__threadfence()",
    "bar.sync": "__syncthreads()",
    "barrier": "__syncthreads()",
    "bfe": "__bitextract_u32() or (x >> at) & mask",
    "bfi": "__bitinsert_u32()",
    "prmt": "__byte_perm()",
    "lop3": "plain &, | and ^: the compiler finds v_bitop3 or v_and_or",
    "fma": "fma() or fmaf()",
    "mad": "plain * and +",
    "ex2": "__builtin_amdgcn_exp2f() or exp2f()",
    "lg2": "__builtin_amdgcn_logf() or log2f()",
    "rcp": "__builtin_amdgcn_rcpf()",
    "rsqrt": "__builtin_amdgcn_rsqf()",
    "sqrt": "__builtin_amdgcn_sqrtf()",
    "sin": "__sinf()",
    "cos": "__cosf()",
    "tanh": "tanhf()",
    "shfl": "__shfl() and the like, or __builtin_amdgcn_ds_bpermute",
    "vote": "__ballot(), __any(), __all()",
    "match": "__match_any()",
    "red": "atomicAdd() and the like",
    "atom": "atomicAdd() and the like",
    "ld.global.nc": "__ldg() or __builtin_nontemporal_load()",
    "ld": "a plain load, __builtin_nontemporal_load() or __atomic_load_n()",
    "st": "a plain store, __builtin_nontemporal_store() or __atomic_store_n()",
    "prefetch": "__builtin_prefetch()",
    "dp4a": "__builtin_amdgcn_sdot4() or __dp4a() of your own",
    "cvt": "a C++ cast or the intrinsics of hip_fp16.h",
    "add": "plain +; __builtin_addc for carries",
    "sub": "plain -; __builtin_subc for borrows",
    "mul": "plain *, __umulhi() or __mulhi()",
    "dp2a": "two products of the parts, or __builtin_amdgcn_sdot2()",
    "activemask": "__activemask(), which has 64 bits",
    "elect": "__ffsll(__activemask()) - 1 == __lane_id()",
    "cvta": "nothing: a generic pointer reads LDS as well; else a cast to __attribute__((address_space(3)))",
    "mov": "a plain assignment; between types __builtin_bit_cast() or __float_as_uint()",
    "setp": "plain comparisons and ?:",
    "selp": "plain ?:",
    "shf": "__funnelshift_l() or __funnelshift_r(), or a shift of 64 bits",
    "shl": "plain <<",
    "shr": "plain >>",
    "and": "plain &",
    "or": "plain |",
    "xor": "plain ^",
    "not": "plain ~",
    "min": "min() or fminf()",
    "max": "max() or fmaxf()",
    "abs": "abs() or fabsf()",
    "neg": "plain -",
    "div": "plain /, __fdividef() for the fast one",
    "rem": "plain %",
    "sad": "__sad() or __usad()",
    "clz": "__clz()",
    "bfind": "31 - __clz()",
    "testp": "isnan(), isinf() and isfinite()",
    "copysign": "copysignf()",
    "applypriority": "nothing: a hint for NVIDIA's cache",
    "discard": "nothing: a hint for NVIDIA's cache",
    "griddepcontrol": "nothing: the order of launches in a stream",
    "brev": "__brev()",
    "popc": "__popc()",
    "isspacep": "__builtin_amdgcn_is_shared()",
    "trap": "__builtin_trap()",
    "exit": "return, or __builtin_amdgcn_endpgm()",
    "nanosleep": "__builtin_amdgcn_s_sleep()",
}
"""HIP's way for common PTX, by how the instruction or the register begins; a longer name comes first."""

LIBRARIES = {
    "cublas": "hipBLAS", "curand": "hipRAND",
    "cufft": "hipFFT, call for call: cufftPlan1d is hipfftPlan1d, CUFFT_C2C is HIPFFT_C2C; link -lhipfft",
    "cusparse": "hipSPARSE, call for call: cusparseSpMV is hipsparseSpMV; link -lhipsparse",
    "cusolver": "hipSOLVER, call for call: cusolverDnCreate is hipsolverDnCreate; link -lhipsolver",
    "cudnn": "MIOpen", "nccl": "RCCL", "cutlass": "Composable Kernel", "cute": "Composable Kernel (CK Tile)",
    "cusparseLt": "hipSPARSELt", "cublasLt": "hipBLASLt", "npp": "RPP", "nvjpeg": "rocJPEG", "nvrtc": "hipRTC",
}  # fmt: skip
