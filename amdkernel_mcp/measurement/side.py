"""One side of a benchmark: what ran, for the candidate or the baseline."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from amdkernel_mcp.measurement.counters import CaseRun
from amdkernel_mcp.results.quantity import Metric


@dataclass(frozen=True)
class Side:
    """One kernel's runs, a `CaseRun` per case; the occupancy limit of each of its kernels; its main counters.

    sleeps: clocks of each instruction that puts a wave to sleep, by its address.
    """

    runs: tuple[CaseRun, ...]
    waves_per_simd: Mapping[str, int] = field(default_factory=dict)
    counters: Mapping[str, Metric] = field(default_factory=dict)
    sleeps: Mapping[int, int] = field(default_factory=dict)
    code: str = ""
    """A digest of the machine code; empty where it is not known."""
    not_judged: str = ""
    """Why nothing that the counted run wrote was judged, as the end of a sentence; empty where it was."""
