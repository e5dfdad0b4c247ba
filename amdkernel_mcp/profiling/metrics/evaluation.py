"""Metrics of one kernel from its recorded dispatches: which pass feeds which formula, and how dispatches are averaged.

A numerator and a denominator come from the same pass wherever one pass has both. On a recorded MI300X the same counter
of the same dispatches read 153 us in one pass and 21 us in another, which turned an occupancy of 28 % into 4 %.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Literal

from amdkernel_mcp.expressions import Formula
from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.profiling.metrics.metric import Definition, quantity
from amdkernel_mcp.profiling.readers.recording import Pass, RecordedDispatch
from amdkernel_mcp.results.quantity import Metric

Aggregation = Literal["mean_of_ratios", "ratio_of_sums"]
DILUTED = 1.3
"""From this factor on a percentage of GRBM_GUI_ACTIVE is only a lower bound."""
_NEWER = {"SQ_INSTS_VALU_MFMA_MOPS_F8", "SQ_INSTS_VALU_MFMA_MOPS_F6F4"}
"""Counters that profilers before 2025 lack: without them a sum of flop gets a note and is not refused."""
_ALWAYS_SUMS = {"GUI_ACTIVE time / Kernel Time"}
_DENOMINATORS = {"GUI", "GUI_MERGED", "T"}
OF_GPU_TIME = frozenset(
    ("VALUBusy", "SALUBusy", "MfmaUtil", "MemUnitBusy", "MemUnitStalled", "LDSBankConflict", "OccupancyPercent")
)
"""Metrics that the profiler computed itself as percentages of GRBM_GUI_ACTIVE."""
_GIVEN = OF_GPU_TIME | {"VALUUtilization", "L2CacheHit", "MeanOccupancyPerCU"}
"""Ratios that the profiler computed: their sums over dispatches mean nothing."""
_MOVED = frozenset(("FETCH_SIZE", "WRITE_SIZE"))
_OLD_NAMES = {"FetchSize": "FETCH_SIZE", "WriteSize": "WRITE_SIZE"}  # of rocprof v1
_PER_INSTANCE = re.compile(r"(TCP|TCC|TA|TD)_[A-Z0-9_]+")


@dataclass(frozen=True)
class Inputs:
    """Counters and denominators for one formula of one dispatch.

    `mixed`: no single pass had all of them. `defaulted`: a counter of `_NEWER` is missing and taken for 0.
    """

    values: Mapping[str, float]
    mixed: bool
    defaulted: bool


def canonical(counters: Mapping[str, float]) -> dict[str, float]:
    """The counters under the names that the formulas use, whatever architecture and release wrote them."""
    named: dict[str, float] = {}
    levels = [name for name in counters if "LEVEL" in name and not name.endswith(("_ACCUM", "_sum", "]"))]
    for name, value in counters.items():
        name = _OLD_NAMES.get(name, name).replace("TCC_EA0_", "TCC_EA_")
        if name.startswith("SQ_ACCUM_PREV") and len(levels) == 1:
            name = f"{levels[0]}_ACCUM"
        named[name] = value
        if _PER_INSTANCE.fullmatch(name) and f"{name}_sum" not in counters:
            named[f"{name}_sum"] = value  # rocprofv3 adds the instances up under the plain name
        if name.startswith("GL2C_") and name.endswith("_sum"):
            named.setdefault(name.removesuffix("_sum"), value)  # the plain one, where there is one, is not rounded
    return named | {name: value for name, value in counters.items() if name.startswith("GL2C_")}


def constants(gpu: Gpu | None) -> dict[str, float]:
    """The GPU's figures that formulas use; empty for an unknown GPU, so that nothing is computed with wrong peaks."""
    if gpu is None:
        return {}
    if not gpu.has_roofs:
        return {"CUs": gpu.cus, "WAVE_SLOTS": gpu.wave_slots} if gpu.cus else {}
    values = {
        "CUs": gpu.cus, "XCDs": gpu.xcds, "SEs": gpu.shader_engines, "WAVE_SLOTS": gpu.wave_slots,
        "MHZ": gpu.clock_mhz, "HBM_GBPS": gpu.memory_gbps, "HBM_REACHED": gpu.achieved("memory"),
    }  # fmt: skip
    return values | ({"L2_CHANNELS": gpu.l2_channels} if gpu.l2_channels else {})


@dataclass(frozen=True)
class Counted:
    """A dispatch with its counters under canonical names: by pass, and all together where the first pass wins."""

    passes: tuple[tuple[Pass, Mapping[str, float]], ...]
    together: Mapping[str, float]
    time_ns: float | None


def counted(dispatch: RecordedDispatch) -> Counted:
    """The dispatch, ready for any number of formulas."""
    passes = tuple((one, canonical(one.counters)) for one in dispatch.passes)
    together: dict[str, float] = {}
    for _, counters in reversed(passes):
        together |= counters
    return Counted(passes, together, kernel_ns(dispatch))


def inputs(formula: Formula, dispatch: Counted, known: Mapping[str, float]) -> Inputs | None:
    """What the formula is computed from: the first pass that has all counters, else all passes together.

    None when a counter is missing.
    """
    names = formula.names
    newer = dict.fromkeys((names & _NEWER) - dispatch.together.keys(), 0.0)
    needed = names - _DENOMINATORS - known.keys() - newer.keys()
    if "GUI" in names:
        needed |= {"GRBM_GUI_ACTIVE"}
    if not needed <= dispatch.together.keys():
        return None
    one, counters = next(((p, c) for p, c in dispatch.passes if needed <= c.keys()), (None, dispatch.together))
    values = {name: counters[name] for name in needed}
    values |= _denominators(one, counters, dispatch, known)
    return Inputs({**newer, **values, **known}, mixed=one is None, defaulted=bool(newer))


def _denominators(
    chosen: Pass | None, counters: Mapping[str, float], dispatch: Counted, known: Mapping[str, float]
) -> dict[str, float]:
    values: dict[str, float] = {}
    took = (chosen.duration_ns if chosen else None) or dispatch.time_ns
    if took:
        values["T"] = took
    if "XCDs" in known:
        if "GRBM_GUI_ACTIVE" in counters:
            values["GUI"] = counters["GRBM_GUI_ACTIVE"] / known["XCDs"]
        merged = next((c for p, c in dispatch.passes if p.merged and "GRBM_GUI_ACTIVE" in c), counters)
        if "GRBM_GUI_ACTIVE" in merged:
            values["GUI_MERGED"] = merged["GRBM_GUI_ACTIVE"] / known["XCDs"]
    return values


def kernel_ns(dispatch: RecordedDispatch) -> float | None:
    """The dispatch's time: of a run without counters if there was one, else the median of the counting runs."""
    if dispatch.duration_ns:
        return dispatch.duration_ns
    counted = [p.duration_ns for p in dispatch.passes if p.duration_ns]
    return median(counted) if counted else None


def evaluate(
    definition: Definition, dispatches: Sequence[Counted], known: Mapping[str, float], rule: Aggregation
) -> Metric:
    """The metric over all dispatches that have its counters, or else over those that have what stands in for them."""
    for formula in definition.formulas:
        found = [(values, one) for values, one in _values(formula, dispatches, known) if one is not None]
        if found:
            return _over_all(definition, formula, found, known, rule)
    return quantity(None, definition.unit, "not_measured")


def _values(
    formula: Formula, dispatches: Sequence[Counted], known: Mapping[str, float]
) -> Iterator[tuple[Inputs, float | None]]:
    for dispatch in dispatches:
        if found := inputs(formula, dispatch, known):
            yield found, formula.value(found.values)


def _over_all(
    definition: Definition,
    formula: Formula,
    found: Sequence[tuple[Inputs, float]],
    known: Mapping[str, float],
    rule: Aggregation,
) -> Metric:
    rows = [each.values for each, _ in found]
    value: float | None = fmean(one for _, one in found)
    if definition.name in _ALWAYS_SUMS or (
        rule == "ratio_of_sums" and definition.unit != "ns" and formula.names.isdisjoint(_GIVEN)
    ):
        value = formula.value(_summed(rows, known))
    if value is None:
        return quantity(None, definition.unit, "not_measured")
    note = _note(definition, formula, value, rows, mixed=any(each.mixed for each, _ in found))
    if note is None and any(each.defaulted for each, _ in found):
        note = "8-bit and smaller matrix types were not counted"
    return quantity(value, definition.unit, definition.evidence, note=note)


def _summed(rows: Sequence[Mapping[str, float]], known: Mapping[str, float]) -> dict[str, float]:
    total: dict[str, float] = {}
    for row in rows:
        for name, value in row.items():
            total[name] = total.get(name, 0.0) + value
    return {**total, **known}


def _note(
    definition: Definition, formula: Formula, value: float, rows: Sequence[Mapping[str, float]], *, mixed: bool
) -> str | None:
    """Why the figure must be read with care; None when it can be trusted."""
    names = formula.names
    most = 100.0001 / (rows[0]["HBM_REACHED"] if "HBM_REACHED" in names else 1)
    if definition.unit == "%" and value > most:
        return (
            "above the peak of the memory: part of it is cache traffic"
            if "HBM_GBPS" in names
            else "above 100 %: do not use it"
        )
    if value < 0:
        return "negative: its counters come from different runs"
    if "GUI_MERGED" in names:
        worst = max((_apart(row.get("GUI"), row.get("GUI_MERGED")) for row in rows), default=1.0)
        if worst > 1.1:
            return f"its denominator is from another pass, off by {worst:.1f} times: use the same-pass figure"
    elif ("GUI" in names or names & OF_GPU_TIME) and "MHZ" not in names and (factor := dilution(rows)) > DILUTED:
        return f"lower bound: GRBM_GUI_ACTIVE is {factor:.1f} times the kernel's time"
    # What a kernel moves is the same in each run, and no pass has room for all of it: only ratios of cycles may differ.
    return "its counters come from different passes" if mixed and not (names & _MOVED and "T" in names) else None


def _apart(one: float | None, other: float | None) -> float:
    return max(one / other, other / one) if one and other else 1.0


def dilution(rows: Sequence[Mapping[str, float]]) -> float:
    """GRBM_GUI_ACTIVE in time over the kernel's time, of the sums; 1 where it cannot be known."""
    usable = [row for row in rows if {"GUI", "MHZ", "T"} <= row.keys()]
    total_ns = sum(row["T"] for row in usable)
    return sum(1000 * row["GUI"] / row["MHZ"] for row in usable) / total_ns if total_ns else 1.0
