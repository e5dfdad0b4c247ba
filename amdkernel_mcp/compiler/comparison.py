"""What changed from one compile to another: registers, spills, scratch, LDS, occupancy, instruction classes. Pure.

Spills, scratch, occupancy and whether matrix instructions are used decide the verdict. Registers, LDS and the counts of
instructions do not: more of them may be the faster kernel, and where they cost waves, the occupancy says so.
"""

from collections.abc import Iterable, Iterator, Sequence

from pydantic import ValidationError

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.hardware.occupancy import SIMDS
from amdkernel_mcp.results.compile_comparison import CompileChange, CompileComparison, KernelChange, ResourceChange
from amdkernel_mcp.results.kernels import CompileResult, KernelResources

_LESS_IS_BETTER = ("vgpr_spills", "sgpr_spills", "scratch_bytes")
_NEUTRAL = ("vgpr", "agpr", "sgpr", "lds_bytes", "wavefront_size")
_KEPT = ("ok", "arch", "toolchain", "code_object", "kernels")
_MOST_SAID = 3
_WORDS = {
    "occupancy_waves_per_simd": "waves per SIMD",
    "vgpr_spills": "vector registers spilled",
    "sgpr_spills": "scalar registers spilled",
    "scratch_bytes": "bytes of scratch per lane",
    "matrix_instructions": "matrix instructions",
}


def compare_compiles(
    before: CompileResult, after: CompileResult, *, name: str, flags: Sequence[str] | None
) -> CompileComparison:
    """What changed from `before`, which is called `name` and was compiled with `flags` (None: not known)."""
    pairs, gone, new = _paired(before.kernels, after.kernels)
    kernels = [_kernel_change(old, now, before.arch, after.arch) for old, now in pairs]
    verdict, reason = _judged(before, after, kernels, gone)
    return CompileComparison(
        compared_with=name,
        verdict=verdict,
        reason=reason,
        arch=before.arch,
        flags=None if flags is None else list(flags),
        toolchain=before.toolchain,
        kernels=kernels,
        gone=gone,
        new=new,
    )


def is_recorded_compile(text: str) -> bool:
    """Whether this is an answer of `amdkernel compile --json` and not a kernel."""
    return text.lstrip()[:1] == "{"


def read_recorded_compile(text: str, file: str) -> CompileResult:
    """The answer that `amdkernel compile --json` printed, maybe another version of it. Raises InputError."""
    import json

    try:
        answer = json.loads(text)
        return CompileResult.model_validate({name: answer[name] for name in _KEPT if name in answer})
    except (ValueError, ValidationError, RecursionError):
        raise InputError("this is not an answer of `amdkernel compile --json`", file=file) from None


def _paired(
    before: Sequence[KernelResources], after: Sequence[KernelResources]
) -> tuple[list[tuple[KernelResources, KernelResources]], list[str], list[str]]:
    """The kernels of one name; of those that are left a single one on either side is the same kernel renamed."""
    old = {kernel.name: kernel for kernel in before}
    now = {kernel.name: kernel for kernel in after}
    pairs = [(old[name], kernel) for name, kernel in now.items() if name in old]
    gone = [name for name in old if name not in now]
    new = [name for name in now if name not in old]
    if len(gone) == 1 and len(new) == 1:
        pairs.append((old[gone.pop()], now[new.pop()]))
    return pairs, gone, new


def _kernel_change(old: KernelResources, now: KernelResources, old_arch: str, arch: str) -> KernelChange:
    figures = [each for each in _figures(old, now, old_arch, arch) if each.before != each.after]
    return KernelChange(
        kernel=now.name,
        earlier_name=None if old.name == now.name else old.name,
        verdict=_verdict_of(each.better for each in figures) if figures else "same",
        figures=figures,
    )


def _figures(old: KernelResources, now: KernelResources, old_arch: str, arch: str) -> Iterator[ResourceChange]:
    waves = (old.occupancy_waves_per_simd, now.occupancy_waves_per_simd)
    yield _change("occupancy_waves_per_simd", *waves, better=_sign(_share(now, arch) - _share(old, old_arch)))
    for name in _LESS_IS_BETTER:
        counts = (getattr(old, name), getattr(now, name))
        yield _change(name, *counts, better=_sign(counts[0] - counts[1]))
    for name in _NEUTRAL:
        yield _change(name, getattr(old, name), getattr(now, name))
    matrix = (_matrix(old), _matrix(now))
    yield _change("matrix_instructions", *matrix, better=_sign(bool(matrix[1]) - bool(matrix[0])))
    yield _change("instructions", sum(old.instructions.values()), sum(now.instructions.values()))
    for family in dict.fromkeys((*old.instructions, *now.instructions)):
        yield _change(f"instructions.{family}", old.instructions.get(family, 0), now.instructions.get(family, 0))


def _change(figure: str, before: int, after: int, *, better: bool | None = None) -> ResourceChange:
    return ResourceChange(figure=figure, before=before, after=after, better=better)


def _sign(difference: float) -> bool | None:
    return difference > 0 if difference else None


def _share(kernel: KernelResources, arch: str) -> float:
    """Of the wave slots of a SIMD, which differ from architecture to architecture."""
    simd = SIMDS.get(arch)
    return kernel.occupancy_waves_per_simd / (simd.wave_slots if simd else 1)


def _matrix(kernel: KernelResources) -> int:
    return kernel.instructions.get("mfma", 0) + kernel.instructions.get("wmma", 0)


def _verdict_of(better: Iterable[bool | None]) -> CompileChange:
    signs = {sign for sign in better if sign is not None}
    if len(signs) == 2:
        return "mixed"
    return "same" if not signs else "better" if signs.pop() else "worse"


def _judged(
    before: CompileResult, after: CompileResult, kernels: Sequence[KernelChange], gone: Sequence[str]
) -> tuple[CompileChange, str]:
    if not (before.ok and after.ok):
        if after.ok:
            return "better", "it compiles, and the other did not"
        return ("worse", "it does not compile, and the other did") if before.ok else ("same", "neither compiles")
    decides = [(kernel.kernel, each) for kernel in kernels for each in kernel.figures if each.better is not None]
    verdict = _verdict_of([*(each.better for _, each in decides), *([False] if gone else [])])
    decides.sort(key=lambda pair: pair[1].better is True)  # the bad news first
    said = [f"{name} has {each.after:,} {_WORDS[each.figure]} ({each.before:,} before)" for name, each in decides]
    if gone:
        said.insert(0, f"{', '.join(gone[:_MOST_SAID])} {'is' if len(gone) == 1 else 'are'} gone")
    if not said:
        changed = any(kernel.figures for kernel in kernels)
        return (
            verdict,
            "other registers or instructions, the same spills and occupancy" if changed else "nothing changed",
        )
    more = f"; and {len(said) - _MOST_SAID} more" if len(said) > _MOST_SAID else ""
    return verdict, "; ".join(said[:_MOST_SAID]) + more
