"""What a rule answers: a diagnosis, or why its class of problem is ruled out."""

from collections.abc import Sequence
from dataclasses import dataclass

from amdkernel_mcp.results.kernels import Diagnosis

GUIDE = "guide:profile#"
"""Before the anchor of a section of docs/profiling.md: a ref that read_doc opens."""
CURES = {
    "too-few-workgroups": "split-k",
    "short-launches": "timing-honestly",
    "uneven-work": "persistent",
    "uncoalesced-accesses": "lds-transpose",
    "redundant-loads": "double-buffering",
    "intermediate-arrays": "timing-honestly",
    "narrow-or-uniform-loads": "peak-copy",
    "contended-atomics": "packed-atomics",
    "lds-accesses": "lds-transpose",
    "scratch-memory": "occupancy",
    "barriers": "row-reduction",
    "missing-matrix-instructions": "first-mfma-gemm",
    "late-loads": "double-buffering",
    "low-occupancy": "occupancy",
    "exposed-latency": "double-buffering",
    "at-the-memory-roof": "peak-copy",
}
"""By section of docs/profiling.md: the guide of the cookbook with a kernel that has the finding, and one without."""
AT_THE_ROOF = "The only modelled bound is the memory traffic that the problem needs"
"""The row of a kernel that has nothing left to cure."""
RULED_OUT = "Ruled out"
"""How the row begins that lists the problems which a kernel does not have."""
NOT_RULED_OUT = 0.1
"""A part of the time: a class that costs more is never said to be ruled out."""
WEIGHS = 0.5
"""A bound that is at least this share of the modelled time is worth acting on."""


@dataclass(frozen=True)
class RuledOut:
    """A class of problem that this kernel does not have, and the figures that show it."""

    what: str
    because: str


@dataclass(frozen=True)
class Found:
    """A finding, and how much shorter the kernel might be without it: this alone orders the findings of all kernels."""

    row: Diagnosis
    cost_us: float
    most_us: float = 0.0
    """What it may cost at most, where that is more: waits in the simulation that fall with the bound."""
    has_gain: bool = True
    """False where it is not known what the kernel could become."""
    symptom: bool = False
    """It costs time, and no count shows why: a cause that costs half as much comes first."""


Answer = Found | RuledOut | None
"""None: the question does not apply to this kernel."""


def docs_of(section: str) -> list[str]:
    """The refs of a finding: the guide that cures it, then the section that explains it; none without a section."""
    if not section:
        return []
    cure = CURES.get(section)
    return [*([f"guide:{cure}"] if cure else []), f"{GUIDE}{section}"]


def in_bytes(count: float) -> str:
    """`25.2 MB`, in powers of 1000 as bandwidths are."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.0f} B"


def finding(what: str, *, because: str, advice: str, docs: Sequence[str] = ()) -> Diagnosis:
    """A diagnosis; `docs` are refs that read_doc opens. (Its key `try` is a keyword of Python.)"""
    return Diagnosis.model_validate({"finding": what, "because": because, "try": advice, "docs": list(docs)})


def costly(
    cost_us: float, what: str, *, because: str, advice: str, most_us: float = 0.0, symptom: bool = False
) -> Found:
    """A finding on an emulated kernel. `cost_us` is an estimate that is never shown."""
    return Found(finding(what, because=because, advice=advice), cost_us, most_us, symptom=symptom)
