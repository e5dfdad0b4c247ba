"""What waves wait for, from PC samples or a thread trace: findings on kernels of recordings.

Samples are a part of all: a share counts as large only if the lower end of its 95 % interval is. Host-trap samples have
no reasons and lie up to two instructions off; a thread trace is of one CU per shader engine.
Sources: rocprofiler-sdk, "Using PC sampling", "Analyzing PC sampling data on CDNA3 and CDNA4", "Using thread trace".
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import sqrt

from amdkernel_mcp.counted import counted
from amdkernel_mcp.profiling.code_lines import line_of
from amdkernel_mcp.profiling.readers.kernel_code import Cost, KernelCode, Place
from amdkernel_mcp.profiling.rules.answer import docs_of, finding
from amdkernel_mcp.results.kernels import Diagnosis, Focus

LARGE = 0.25
"""Share of all samples or cycles from which a wait is a finding."""
MIXED = 0.4
"""Share of all waits together from which they are named although none is large."""
FEWEST_SAMPLES, FEWEST_CYCLES = 50, 1000
MOST_LINES = 4
FEW_WAVES = 3
"""Waves on a SIMD that leave waits uncovered."""
_HIDDEN_BY_WAVES = {"memory", "lds", "data", "dependency", "gaps"}
_Z = 1.96


@dataclass(frozen=True)
class _Wait:
    finding: str
    advice: str
    topic: Focus | None
    section: str
    """Of docs/profiling.md."""


_WAITS: Mapping[str, _Wait] = {
    "memory": _Wait(
        "Waves wait for loads from memory",
        "issue these loads earlier: fetch the next tile into registers before this one is used, unroll so that several "
        "loads are in flight, load 16 bytes per lane, or let more waves reside",
        "memory", "exposed-latency"),
    "lds": _Wait(
        "Waves wait for LDS or scalar loads",
        "read LDS earlier and wider (ds_read_b128), remove bank conflicts, and load scalars before the loop",
        "lds", "lds-accesses"),
    "data": _Wait(
        "Waves wait for loads from memory or LDS",
        "issue loads and LDS reads earlier and keep several in flight; one s_waitcnt waits for both here",
        "memory", "exposed-latency"),
    "stores": _Wait(
        "Waves wait for stores to finish",
        "leave out fences and barriers that only order stores, and store once at the end",
        "memory", "exposed-latency"),
    "barrier": _Wait(
        "Waves wait at barriers",
        "give all waves of a block the same work between barriers, use fewer barriers (double-buffered LDS saves one "
        "of two), or smaller blocks",
        "occupancy", "barriers"),
    "memory_pipe": _Wait(
        "Waves queue for the memory pipe",
        "issue fewer and wider memory instructions: 16 bytes per lane, neighbouring lanes on neighbouring addresses, "
        "values that are used again in registers or LDS",
        "memory", "narrow-or-uniform-loads"),
    "lds_pipe": _Wait(
        "Waves queue for the LDS pipe",
        "issue fewer and wider LDS instructions (ds_read_b128), remove bank conflicts, keep values in registers",
        "lds", "lds-accesses"),
    "matrix_pipe": _Wait(
        "Waves queue for the matrix cores",
        "that is what a matrix product should wait for; use a narrower type if the tolerance allows",
        "instructions", "recordings-of-a-gpu"),
    "vector_pipe": _Wait(
        "Waves queue for the vector ALU",
        "execute fewer vector instructions: packed FP32, MFMA for products, cheaper index arithmetic",
        "instructions", "instruction-overhead"),
    "dependency": _Wait(
        "Waves wait for results of their own instructions",
        "keep several independent sums or elements per thread, or let more waves reside",
        "occupancy", "exposed-latency"),
    "fetch": _Wait(
        "Waves wait for instructions",
        "make the hot loop shorter than the instruction cache: unroll less, inline less; branch less",
        "instructions", "instruction-overhead"),
    "gaps": _Wait(
        "Waves pause before their instructions are taken",
        "these gaps are results that are not ready, lost arbitration or instruction fetch: several independent "
        "elements per thread help against the first; PC samples (stochastic) say which it is",
        "occupancy", "exposed-latency"),
}  # fmt: skip
_MIXED_ADVICE = "begin with these lines; no single change removes most of the waits"
_UNNAMED = {"other", "internal"}
"""Counted as waits, but what to do about them is not known."""
_BY_REASON: Mapping[str, str] = {
    "ALU_DEPENDENCY": "dependency",
    "BARRIER_WAIT": "barrier",
    "NO_INSTRUCTION_AVAILABLE": "fetch",
    "INTERNAL_INSTRUCTION": "internal",
}
_VECTOR_MEMORY = re.compile(r"(global|flat|buffer|tbuffer|scratch|image)_")
_MEMORY_COUNTER = re.compile(r"vmcnt|loadcnt|samplecnt|bvhcnt")
_LDS_COUNTER = re.compile(r"lgkmcnt|dscnt|kmcnt")
_STORE_COUNTER = re.compile(r"vscnt|storecnt")


def waited_for(text: str) -> str | None:
    """What an instruction that only waits waits for; None for other instructions."""
    if text.startswith(("s_barrier", "s_wait_barrier")):
        return "barrier"
    if not text.startswith("s_wait"):
        return None
    memory, lds = _MEMORY_COUNTER.search(text), _LDS_COUNTER.search(text)
    if _STORE_COUNTER.search(text) and not memory and not lds:
        return "stores"
    if memory and not lds:
        return "memory"
    return "lds" if lds and not memory else "data" if memory else "other"


def _pipe(text: str) -> str:
    if _VECTOR_MEMORY.match(text):
        return "memory_pipe"
    if text.startswith("ds_"):
        return "lds_pipe"
    if text.startswith(("v_mfma", "v_smfmac", "v_wmma", "v_swmmac")):
        return "matrix_pipe"
    return "vector_pipe" if text.startswith("v_") else "other"


def _of_reasons(place: Place, cost: Cost) -> Iterator[tuple[str, int]]:
    for reason, stalled in cost.reasons.items():
        if reason == "WAITCNT":
            yield waited_for(place.text) or "data", stalled
        elif reason in ("ARBITER_NOT_WIN", "ARBITER_WIN_EX_STALL"):
            yield _pipe(place.text), stalled
        else:
            yield _BY_REASON.get(reason, "other"), stalled


def _of_place(place: Place, cost: Cost) -> Iterator[tuple[str, int]]:
    """Host-trap samples: only a wave that stands at a waiting instruction is known to wait."""
    if wait := waited_for(place.text):
        yield wait, cost.samples


def _of_cycles(place: Place, cost: Cost) -> Iterator[tuple[str, int]]:
    if wait := waited_for(place.text):
        yield wait, cost.latency + cost.idle
    else:
        yield _pipe(place.text), cost.stall
        yield "gaps", cost.idle


_SPLIT: Mapping[str, Callable[[Place, Cost], Iterator[tuple[str, int]]]] = {
    "stochastic samples": _of_reasons,
    "host-trap samples": _of_place,
    "thread trace": _of_cycles,
}


@dataclass(frozen=True)
class Waits:
    """What a kernel waited for, in samples or cycles, and where."""

    total: int
    by_wait: Mapping[str, int]
    by_line: Mapping[str, Counter[str]]


def waits_of(code: KernelCode) -> Waits:
    """The samples or cycles of each kind of wait, in all and by line (or instruction, without debug symbols)."""
    by_wait, by_line = Counter[str](), dict[str, Counter[str]]()
    for place, cost in code.costs.items():
        for wait, amount in _SPLIT[code.method](place, cost):
            if amount:
                by_wait[wait] += amount
                by_line.setdefault(wait, Counter())[_where(place)] += amount
    return Waits(code.total.weight, by_wait, by_line)


def _where(place: Place) -> str:
    line = line_of(place.source)
    return f"{line[0]}:{line[1]}" if line else place.text[:80]


def interval(part: int, whole: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson's), as if samples were independent."""
    share = part / whole
    middle = (share + _Z**2 / (2 * whole)) / (1 + _Z**2 / whole)
    half = _Z / (1 + _Z**2 / whole) * sqrt(share * (1 - share) / whole + _Z**2 / (4 * whole**2))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def diagnose_waits(code: KernelCode, *, bandwidth_bound: bool = False, fit: float | None = None) -> list[Diagnosis]:
    """The large waits of a kernel, longest first. Nothing where there is too little to say so.

    bandwidth_bound: counters show that the memory is at its limit, so more loads in flight would not help.
    fit: waves that can be resident on a SIMD, where that is known.
    """
    waits = waits_of(code)
    cycles = code.method == "thread trace"
    if waits.total < (FEWEST_CYCLES if cycles else FEWEST_SAMPLES):
        return []
    named = sorted((wait for wait in waits.by_wait if wait not in _UNNAMED), key=lambda wait: -waits.by_wait[wait])
    found = []
    for wait in named:
        amount = waits.by_wait[wait]
        if (amount / waits.total if cycles else interval(amount, waits.total)[0]) >= LARGE:
            found.append(_finding(code, waits, wait, bandwidth_bound=bandwidth_bound, fit=fit))
    if not found and sum(waits.by_wait.values()) >= MIXED * waits.total:
        found.append(_mixed(code, waits, named))
    return found


def _finding(code: KernelCode, waits: Waits, wait: str, *, bandwidth_bound: bool, fit: float | None) -> Diagnosis:
    what = _WAITS[wait]
    advice = what.advice
    if bandwidth_bound and wait in ("memory", "data", "memory_pipe"):
        advice = "move fewer bytes: the memory is at its limit, so more loads in flight do not help"
    because = f"{_amount(code, waits, waits.by_wait[wait])}; most at {_lines(waits, wait)}"
    if fit and fit <= FEW_WAVES and wait in _HIDDEN_BY_WAVES:
        because += f"; registers and LDS let {counted(round(fit), 'wave')} reside on a SIMD"
    return _row(code, replace(what, advice=advice), because, waits.by_line[wait])


def _mixed(code: KernelCode, waits: Waits, named: list[str]) -> Diagnosis:
    shares = [f"{_WAITS[wait].finding} ({waits.by_wait[wait] / waits.total:.0%})" for wait in named[:3]]
    lines = sum((waits.by_line[wait] for wait in named), Counter[str]())
    because = f"{_amount(code, waits, sum(waits.by_wait.values()))} are waits. {'. '.join(shares)}"
    what = "Waves wait for several things, and none dominates"
    return _row(code, _Wait(what, _MIXED_ADVICE, None, "recordings-of-a-gpu"), because, lines)


def _row(code: KernelCode, what: _Wait, because: str, lines: Counter[str]) -> Diagnosis:
    docs = docs_of(what.section)
    row = finding(f"{code.kernel[:80]}: {what.finding}", because=because, advice=what.advice, docs=docs)
    places = [where for where, _ in lines.most_common(MOST_LINES)]
    return row.model_copy(update={"places": places, "topic": what.topic})


def _amount(code: KernelCode, waits: Waits, amount: int) -> str:
    share = amount / waits.total
    if code.method == "thread trace":
        return f"{amount:,} of {waits.total:,} cycles of the traced waves ({share:.0%})"
    low, high = interval(amount, waits.total)
    kind = code.method.removesuffix(" samples")
    skid = ", which may lie two instructions off" if code.method == "host-trap samples" else ""
    return f"{amount:,} of {waits.total:,} {kind} samples ({share:.0%}, 95 % interval {low:.0%} to {high:.0%}){skid}"


def _lines(waits: Waits, wait: str) -> str:
    return ", ".join(f"{where} ({amount / waits.total:.0%})" for where, amount in waits.by_line[wait].most_common(2))
