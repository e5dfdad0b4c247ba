"""How rocprofv3 is called on a GPU: which counters go into which pass, and the command lines. Nothing is run here.

Limits per pass by hardware block: rocprofiler-sdk, gfx9; GL2C: those of gfx115x. GRBM_GUI_ACTIVE is in every pass,
since a denominator of another pass has been up to seven times too large; time comes from a pass of its own that counts
nothing. Not tested on hardware: no GPU was available.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from amdkernel_mcp.profiling.metrics.recorded import definitions

LIMITS = {"SQ": 8, "SQC": 8, "TCP": 4, "TCC": 4, "SPI": 6, "TA": 2, "TD": 2, "CPC": 2, "CPF": 2, "GRBM": 2, "GDS": 4,
          "GL2C": 4}  # fmt: skip
ACCUMULATED = frozenset({"MeanOccupancyPerCU", "VmemLatency", "LdsLatency", "InstrFetchLatency"})
"""Sums over a level. With seven more counters of the SQ in the pass, rocprofv3 ends with error 38."""
ALONE = frozenset({"FETCH_SIZE", "WRITE_SIZE"}) | ACCUMULATED
EVERYWHERE = "GRBM_GUI_ACTIVE"
_SHARED = {"SQC": "SQ"}  # SQC counters take the SQ's slots
_NOT_COUNTERS = frozenset(
    {"T", "GUI", "GUI_MERGED", "CUs", "XCDs", "SEs", "L2_CHANNELS", "WAVE_SLOTS", "MHZ", "HBM_GBPS", "HBM_REACHED"}
)


def wanted_counters(gfx: str) -> list[list[str]]:
    """The counters of each metric of this architecture, under the names that it has."""
    groups = []
    for definition in definitions(gfx):
        if not definition.text:
            continue
        names = definition.formula.names - _NOT_COUNTERS
        counters = sorted(name for name in names if not name.endswith("_ACCUM"))
        if gfx not in ("gfx908", "gfx90a"):
            counters = [name.replace("TCC_EA_", "TCC_EA0_") for name in counters]
        if counters:
            groups.append(counters)
    return groups


def listed_counters(printed: str) -> frozenset[str] | None:
    """The names in what `rocprofv3-avail list --pmc` or `rocprofv3 --list-avail` prints; None for other text."""
    names = frozenset(re.findall(r"\b[A-Za-z]\w+\b", printed))
    return names if EVERYWHERE in names else None


def missing_counters(gfx: str, available: Collection[str] | None) -> list[str]:
    """The counters of our metrics that this rocprofv3 does not have on this architecture. `available` None: not known.

    rocprofv3 refuses a whole pass for one of them: ROCm 7.0 has no TCP_REQ on gfx1201 (counter_defs.yaml).
    """
    if available is None:
        return []
    return sorted({name for group in wanted_counters(gfx) for name in group if name not in available})


def uncounted(gfx: str, available: Collection[str] | None) -> list[str]:
    """The sentence about them; none where nothing is missing."""
    missing = missing_counters(gfx, available)
    if not missing:
        return []
    return [f"this rocprofv3 has no {', '.join(missing)} on {gfx}: metrics that need it are not measured"]


def plan_passes(groups: Iterable[Sequence[str]]) -> list[list[str]]:
    """The counters in few runs that keep to the limits, GRBM_GUI_ACTIVE first in each.

    A group whose counters fit into one run stays together, so that a ratio is not taken over two runs.
    """
    passes: list[list[str]] = []
    for group in groups:
        wanted = [counter for counter in dict.fromkeys(group) if counter != EVERYWHERE]
        for part in [wanted] if _fit([EVERYWHERE], wanted) else [[counter] for counter in wanted]:
            _place(part, passes)
    return passes or [[EVERYWHERE]]


def _place(counters: Sequence[str], passes: list[list[str]]) -> None:
    if any(set(counters) <= set(one) for one in passes):
        return
    for one in passes:
        missing = [counter for counter in counters if counter not in one]
        if _fit(one, missing):
            one += missing
            return
    passes.append([EVERYWHERE, *counters])


def _fit(taken: Sequence[str], more: Sequence[str]) -> bool:
    alone = ALONE & {*taken, *more}
    if alone and len({*taken, *more} - {EVERYWHERE}) > 1:
        return False
    used = Counter(block_of(name) for name in (*taken, *more))
    return all(count <= LIMITS.get(block, 1) for block, count in used.items())


def block_of(counter: str) -> str:
    """The hardware block whose slots the counter takes: `SQ` for SQ_WAVES and for SQC_DCACHE_REQ."""
    block = counter.split("_", 1)[0]
    return _SHARED.get(block, block)


def counter_command(
    counters: Sequence[str], *, folder: str, program: Sequence[str], kernels: Sequence[str]
) -> list[str]:
    """rocprofv3 that counts one pass of the kernels whose names hold one of `kernels`, and writes CSV to `folder`."""
    return [*_start(folder, kernels), "--pmc", *counters, "--", *program]


def trace_command(*, folder: str, program: Sequence[str], kernels: Sequence[str]) -> list[str]:
    """rocprofv3 that only takes times."""
    return [*_start(folder, kernels), "--kernel-trace", "--", *program]


def _start(folder: str, kernels: Sequence[str]) -> list[str]:
    return [
        "rocprofv3",
        "-f",
        "csv",
        "-d",
        folder,
        "-o",
        "out_%pid%",  # the runner has a process for each case: under one name, each would overwrite the one before
        "--kernel-include-regex",
        "|".join(map(_literal, kernels)),
    ]


def _literal(name: str) -> str:
    """A regular expression for exactly this text; rocprofv3 reads ECMAScript's."""
    return "".join(f"\\{c}" if c in r"\^$.|?*+()[]{}" else c for c in name)


def commands(
    gfx: str,
    *,
    folder: str,
    program: Sequence[str],
    kernels: Sequence[str],
    available: Collection[str] | None = None,
) -> list[list[str]]:
    """All runs of one profile in the layout that the import reads: `pass_1`, `pass_2`, … and `trace`.

    `available`: the counters that exist there; None: not known, so all are asked for.
    """
    missing = missing_counters(gfx, available)
    groups = [[name for name in group if name not in missing] for group in wanted_counters(gfx)]
    passes = plan_passes(groups)
    counting = [
        counter_command(counters, folder=f"{folder}/pass_{number}", program=program, kernels=kernels)
        for number, counters in enumerate(passes, start=1)
    ]
    return [*counting, trace_command(folder=f"{folder}/trace", program=program, kernels=kernels)]
