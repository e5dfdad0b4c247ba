"""The answer about a port: what was done, what is left by hand, which lines to look at. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from amdkernel_mcp.counted import counted
from amdkernel_mcp.port.candidate import Candidate, device_sources
from amdkernel_mcp.port.lint import Hit, lint
from amdkernel_mcp.port.lint_classes import CLASSES
from amdkernel_mcp.port.sources import CudaProgram
from amdkernel_mcp.results.kernels import CheckResult, CompileResult, Finding
from amdkernel_mcp.results.port import PortChange, PortHit, PortResult

if TYPE_CHECKING:
    from amdkernel_mcp.port.port import Ported, Wanted
    from amdkernel_mcp.port.rules_of_types import SeenFunction
    from amdkernel_mcp.port.verify import Verified

MOST_SUSPECTS = 6
MOST_FINDINGS = 3
_ORDER = (
    "ballot32", "popc32", "lanemask32", "shuffle_width", "lane31", "warp5", "warp_mix", "warp_size_constant",
    "warp_sync", "syncwarp_diverged", "tile", "half_warp", "warp_const", "mask",
)  # fmt: skip


def hits_of(program: CudaProgram, seen: Mapping[str, Sequence[SeenFunction]] = {}) -> list[PortHit]:
    """The lint of all files, that of the named one first. seen: what clang's syntax tree shows, by file."""
    found: list[PortHit] = []
    for name in (program.main, *(each for each in program.files if each != program.main)):
        found += [
            _shown(hit, None if name == program.main else name) for hit in lint(program.files[name], seen.get(name, ()))
        ]
    return found


def _shown(hit: Hit, file: str | None) -> PortHit:
    return PortHit(
        line=hit.line, file=file, kind=hit.kind, level=hit.level, function=hit.function, sentence=hit.sentence,
        instead=hit.instead, docs=hit.docs,
    )  # fmt: skip


def suspects(hits: Sequence[PortHit], *, keep_warps: bool) -> list[PortHit]:
    """The hits that a wave of 64 makes wrong, the likeliest first; a widened mask only where nothing else is."""
    of_waves = [hit for hit in hits if CLASSES[hit.kind].wave]
    left = [hit for hit in of_waves if hit.kind != "mask" or keep_warps] or of_waves
    left.sort(key=lambda hit: (hit.level != "sure", _ORDER.index(hit.kind), hit.line))
    return left[:MOST_SUSPECTS]


def answer_of(wanted: Wanted, ported: Ported, verified: Verified | None, *, target: str) -> PortResult:
    """The whole answer; never that something is ported which was not built."""
    hits = hits_of(wanted.program, ported.seen)
    archs = [] if ported.failed else list(wanted.archs)
    verdict = verified.verdict if verified else "does_not_compile" if ported.failed else "compiles"
    found = suspects(hits, keep_warps=wanted.keep_warps) if verdict == "wave64_mistake" else []
    return PortResult(
        verdict=verdict,
        reason=_reason(wanted, ported, verified, found),
        mode="keep_warps" if wanted.keep_warps else "readable",
        target=target,
        archs=archs,
        difference=verified.difference if verified else None,
        runs=list(verified.runs) if verified else [],
        suspects=found,
        lint=hits,
        lint_by="syntax_tree" if ported.seen else "tokens",
        by_hand=_by_hand(hits, ported, keep_warps=wanted.keep_warps),
        changes=[PortChange(what=each.what, times=each.times, line=each.line) for each in ported.changes],
        diagnostics=list(ported.diagnostics),
        diff=ported.diff or None,
    )


def _reason(wanted: Wanted, ported: Ported, verified: Verified | None, found: Sequence[PortHit]) -> str:
    if ported.failed:
        return ported.failed
    if verified:
        lines = ", ".join(f"{hit.line} ({hit.kind})" for hit in found)
        return verified.reason + (f"; look at line {lines}" if lines else "")
    how = "the source as it is, with warps of 32" if wanted.keep_warps else "translated by us, name by name"
    return f"compiled and linked for {' and '.join(wanted.archs)}: {how}; whether it computes the same is not shown"


def _by_hand(hits: Sequence[PortHit], ported: Ported, *, keep_warps: bool) -> list[str]:
    """What neither the translation nor the headers do."""
    left = [f"HIP has no {name}" for name in ported.missing[:8]]
    counts: dict[str, list[PortHit]] = {}
    for hit in hits:
        solved = keep_warps and (CLASSES[hit.kind].wave or hit.kind == "coop_reduce")
        if not solved and hit.kind != "mask":
            counts.setdefault(hit.instead if hit.kind == "library" else hit.kind, []).append(hit)
    for each in counts.values():
        kind = each[0].kind
        lines = ", ".join(str(hit.line) for hit in each[:6]) + (", …" if len(each) > 6 else "")
        left.append(f"{kind}: {counted(len(each), 'place')} (line {lines}): {each[0].instead}")
    return left


def answer_about_candidate(made: Candidate, compiled: CompileResult, source: str, *, target: str) -> PortResult:
    """The answer about one kernel that was taken alone."""
    failed = next((each.message for each in compiled.diagnostics if each.severity == "error"), "")
    reason = f"{made.kernel} is a candidate: finish problem.toml and reference.py, then amdkernel check"
    return PortResult(
        verdict="compiles" if compiled.ok else "does_not_compile",
        reason=reason if compiled.ok else f"{made.kernel} does not compile as a candidate: {failed}",
        target=target,
        archs=[compiled.arch] if compiled.ok else [],
        lint=hits_of(CudaProgram(made.kernel, {made.kernel: device_sources(source)})),
        by_hand=list(made.by_hand),
        diagnostics=compiled.diagnostics,
        launch=made.launch,
    )


def answer_about_judged(made: Candidate, checked: CheckResult, source: str, *, target: str) -> PortResult:
    """The answer about one kernel that was taken alone and checked."""
    return PortResult(
        verdict=checked.verdict,
        reason=checked.reason,
        target=target,
        lint=hits_of(CudaProgram(made.kernel, {made.kernel: device_sources(source)})),
        by_hand=list(made.by_hand),
        diagnostics=checked.diagnostics,
        findings=checked.findings,
        launch=made.launch,
    )


def wave_findings(source: str) -> list[Finding]:
    """For a kernel that is wrong on waves of 64 and right on waves of 32: the likeliest lines first, at most three."""
    program = CudaProgram("kernel", {"kernel": source})
    found = suspects(hits_of(program), keep_warps=True)
    return [
        Finding(kind="wrong_result", line=hit.line, message=f"on a wave of 64: {hit.sentence}; use {hit.instead}")
        for hit in found[:MOST_FINDINGS]
    ]
