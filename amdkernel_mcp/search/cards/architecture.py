"""The card of an architecture: its parts, limits, caches and peaks, each figure with its source."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.hardware.occupancy import SIMDS
from amdkernel_mcp.hardware.specs import Gpu, all_gpus, lookup
from amdkernel_mcp.results.documentation import Card
from amdkernel_mcp.search.cards.instructions import architectures_of, mnemonics_like
from amdkernel_mcp.search.cards.matrix import matrix_instructions

OCCUPANCY_SOURCE = "llvm"
_SOURCES = (
    "llvm = LLVM 21 (AMDGPUBaseInfo.cpp, AMDGPUUsage, its assembler); rocm = ROCm 6.4 hardware specifications; "
    "guide = AMD's optimisation guide for MI300 and MI355 (2025-11); isa = ISA document; "
    "rpc = ROCm Compute Profiler 3.3.0."
)
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Architecture:
    """An entry of docs_index/architectures.toml."""

    gfx: str
    family: str
    names: tuple[str, ...]
    facts: tuple[tuple[str, str, str], ...]


@cache
def architectures() -> dict[str, Architecture]:
    """Every architecture that has a card, by its gfx name."""
    table = tomllib.loads((folder("docs_index") / "architectures.toml").read_text(encoding="utf-8"))
    return {
        gfx: Architecture(gfx, row["family"], tuple(row["names"]), tuple((a, b, c) for a, b, c in row["facts"]))
        for gfx, row in table.items()
    }


@cache
def _by_name() -> dict[str, str]:
    named = {_folded(name): one.gfx for one in architectures().values() for name in (one.gfx, one.family, *one.names)}
    parts = {_folded(name): gpu.gfx for gpu in all_gpus() for name in (gpu.name, *gpu.aliases)}
    return {name: gfx for name, gfx in (parts | named).items() if gfx in architectures()}


def gfx_of(name: str) -> str | None:
    """The gfx name for `gfx942`, `MI300X`, `CDNA3`, `RX 7900 XTX`; None where no card has it."""
    folded = _folded(name)
    return _by_name().get(folded) or _by_name().get(folded.removeprefix("amd").removeprefix("instinct"))


@cache
def architecture_card(name: str) -> Card | None:
    """The card, or None where there is none for that name."""
    gfx = gfx_of(name)
    if gfx is None:
        return None
    one = architectures()[gfx]
    parts = [gpu for gpu in all_gpus() if gpu.gfx == gfx]
    meant = lookup(name) or lookup(gfx)
    told = [gpu for gpu in parts if gpu == meant]
    lines = [f"{one.family}, LLVM target `{gfx}` (`--offload-arch={gfx}`).", ""]
    for gpu in told:
        lines += [*_part(gpu), ""]
    others = [gpu for gpu in parts if gpu not in told]
    if others:
        lines += ["Other parts: " + "; ".join(_short(gpu) for gpu in others) + ".", ""]
    lines += ["| what | figure | source |", "|---|---|---|"]
    lines += [f"| {what} | {figure} | {source} |" for what, figure, source in (*_limits(gfx), *one.facts)]
    lines += ["", f"Sources: {_SOURCES}"]
    return Card(
        ref=f"arch:{gfx}",
        kind="arch",
        name=gfx,
        title=f"{gfx}: {one.family}, {', '.join(gpu.name for gpu in parts) or ', '.join(one.names)}",
        text="\n".join(lines),
        origin="docs_index/architectures.toml, hardware/gpus.toml, hardware/occupancy.py; a source next to each figure",
    )


@cache
def facts_of(gfx: str) -> Mapping[str, str]:
    """Every figure that the card of an architecture says, by its name; those of its first part as well."""
    part = lookup(gfx)
    told = {what: figure for what, figure, _ in (*_limits(gfx), *architectures()[gfx].facts)}
    if part:
        told["compute units"] = f"{part.cus} in {part.xcds} XCD(s) ({part.name})"
        told["memory bandwidth"] = f"{part.memory_gbps:g} GB/s ({part.name})"
        cache = f", Infinity Cache {part.mall_mib:g} MiB" if part.mall_mib else ""
        told["last level cache"] = f"L2 {part.l2_mib:g} MiB{cache} ({part.name})"
    return told


def _limits(gfx: str) -> Iterator[tuple[str, str, str]]:
    simd = SIMDS[gfx]
    yield "wave size", str(simd.native_wave), OCCUPANCY_SOURCE
    unit = "CU" if simd.native_wave == 64 else "WGP (2 CUs)"
    yield "SIMDs", f"{simd.simds} a {unit}", OCCUPANCY_SOURCE
    yield "waves a SIMD, at most", str(simd.wave_slots), OCCUPANCY_SOURCE
    unified = ", AGPRs included; a wave can address 256 + 256" if simd.native_wave == 64 else "; a wave can address 256"
    yield "VGPRs a lane and SIMD", f"{simd.vgprs}{unified}", OCCUPANCY_SOURCE
    yield "VGPRs are allocated in steps of", str(simd.vgpr_granule), OCCUPANCY_SOURCE
    steps = "; ".join(f"{waves}: {_most_vgprs(gfx, waves)}" for waves in _occupancies(gfx))
    yield "most VGPRs for n waves a SIMD", steps, OCCUPANCY_SOURCE
    if simd.sgprs:
        yield "SGPRs a SIMD", str(simd.sgprs), OCCUPANCY_SOURCE
    yield "LDS", f"{simd.lds_bytes >> 10} KiB a {unit}, in steps of {simd.lds_granule} B", OCCUPANCY_SOURCE
    yield "matrix instructions", f"{', '.join(_matrix_types(gfx))}; all: `isa:v_*x*x*`", OCCUPANCY_SOURCE
    for memory, pattern in (("global memory", "global_atomic_*add_*f*"), ("LDS", "ds_*add_*f*")):
        adds = [name for name in mnemonics_like(pattern) if gfx in architectures_of()[name] and "_rtn" not in name]
        yield f"float atomics, {memory}", ", ".join(f"`{name}`" for name in adds) or "none", OCCUPANCY_SOURCE


def _matrix_types(gfx: str) -> list[str]:
    """`MFMA f16, bf16, ...` for each kind of matrix instruction that the architecture has."""
    kinds: dict[str, dict[str, None]] = {}
    for one in matrix_instructions():
        if any(form.arch == gfx for form in one.forms):
            kinds.setdefault(one.kind.upper(), {})[one.a_type] = None
    return [f"{kind} {', '.join(types)}" for kind, types in kinds.items()]


def _occupancies(gfx: str) -> list[int]:
    """Numbers of waves that a kernel's registers can lead to, the highest first; of several with one limit the most."""
    simd = SIMDS[gfx]
    fewest = -(-simd.vgprs // _addressable(gfx))
    limits = {_most_vgprs(gfx, waves): waves for waves in range(fewest, simd.wave_slots + 1)}
    return sorted(limits.values(), reverse=True)


def _most_vgprs(gfx: str, waves: int) -> int:
    """Registers of a wave of the native size with which a SIMD still holds that many waves."""
    simd = SIMDS[gfx]
    return min(simd.vgprs // waves // simd.vgpr_granule * simd.vgpr_granule, _addressable(gfx))


def _addressable(gfx: str) -> int:
    """Registers that one wave can name; on CDNA AGPRs count."""
    return 512 if SIMDS[gfx].native_wave == 64 else 256


def _part(gpu: Gpu) -> list[str]:
    caches = f"L2 {gpu.l2_mib:g} MiB" + (f", Infinity Cache {gpu.mall_mib:g} MiB" if gpu.mall_mib else "")
    peaks = [
        f"{unit.replace('_', ' ', 1)} {rate / 1e12:.4g}"
        for unit in gpu.flops_per_clock_cu
        if (rate := gpu.peak_flops(unit)) is not None
    ]
    lines = [
        f"**{gpu.name}**: {gpu.cus} CUs in {gpu.xcds} XCD(s), {gpu.clock_mhz:g} MHz peak, {gpu.memory_gbps:g} GB/s,"
        f" {caches}.",
        f"Peak TFLOP/s (dense): {'; '.join(peaks)}.",
        f"Source ({gpu.confidence} confidence): {gpu.source}.",
    ]
    return [*lines, f"Note: {' '.join(gpu.notes.split())}."] if gpu.notes else lines


def _short(gpu: Gpu) -> str:
    return f"{gpu.name} ({gpu.cus} CUs, {gpu.clock_mhz:g} MHz, {gpu.memory_gbps:g} GB/s)"


def _folded(name: str) -> str:
    return _NOT_IN_A_NAME.sub("", name.lower())
