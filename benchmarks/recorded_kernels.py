"""The kernels of benchmarks/recorded on the emulator, compared counter by counter with recordings of an MI300X."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.hardware.target import Target
from benchmarks.planted_kernels import run_file

FOLDER = Path(__file__).with_name("recorded")
NEAR = 0.02
WHY: Mapping[str, str] = {
    "fetches": "Instruction fetches. Scalar and instruction caches send their misses to the L2 as reads (SQC_TC_REQ: "
    "2,774, 3,045, 576 and 608 in these launches, in the order of the table: for both atomics all of TCC_READ). "
    "The emulator models scalar loads, and no instruction fetch.",
    "on its way": "A scalar load of a line that is on its way is neither hit nor miss on hardware "
    "(SQC_DCACHE_MISSES_DUPLICATE); in the model it is a hit.",
    "spread": "Inferred: hardware spread the workgroups over more scalar caches (146, 32) than the model (128, 16), "
    "which fills neighbouring CUs that share one.",
    "atomics": "With several XCDs, atomics of the whole device run behind the L2: TCC_EA_ATOMIC equals TCC_ATOMIC in "
    "both recordings. No line is read for them and each is written; the model runs them in the L2.",
    "atomic lanes": "On hardware an atomic makes an access for each lane, and one to the cache for each 16 bytes that "
    "differ; the model counts those of a store.",
    "written twice": "Inferred: two blocks store to each line, and some lines leave the L2 in between.",
    "passes": "A transcendental takes four passes: the difference is three cycles for each. The model counts one.",
}
"""Known reasons for a difference of more than NEAR."""
_ATOMICS, _ALL = ("add_to_own", "add_to_one"), ("copy_neighbours", "copy_strided", "add_to_own", "add_to_one")
REASONS: Mapping[tuple[str, str], tuple[str, ...]] = {
    **{("SQC_DCACHE_HITS", kernel): ("on its way",) for kernel in _ALL},
    **{("SQC_DCACHE_MISSES", kernel): ("spread",) for kernel in _ALL},
    **{(f"TCC_{name}_sum", kernel): ("fetches",) for name in ("REQ", "READ", "HIT") for kernel in _ALL},
    **{(f"TCC_{name}_sum", "copy_neighbours"): ("fetches",) for name in ("MISS", "EA0_RDREQ")},
    **{(f"TCC_{name}_sum", kernel): ("fetches", "atomics") for name in ("MISS", "EA0_RDREQ") for kernel in _ATOMICS},
    **{("TCC_BUBBLE_sum", kernel): ("atomics",) for kernel in _ATOMICS},
    ("TCC_EA0_WRREQ_sum", "add_to_one"): ("atomics",),
    ("TCC_EA0_WRREQ_sum", "copy_strided"): ("written twice",),
    **{("TCP_TOTAL_ACCESSES_sum", kernel): ("atomic lanes",) for kernel in _ATOMICS},
    ("TCP_TOTAL_CACHE_ACCESSES_sum", "add_to_own"): ("atomic lanes",),
    ("SQ_THREAD_CYCLES_VALU", "copy_strided"): ("passes",),
}
"""Why a counter of a kernel is more than NEAR off. A test fails for one that is not, and for one without a reason."""


@dataclass(frozen=True)
class Compared:
    """One counter of one kernel: as the MI300X counted it, and as the emulator does."""

    kernel: str
    counter: str
    recorded: float
    ours: float

    @property
    def off(self) -> float:
        """The difference as a share of the recorded value; infinite where that is 0 and ours is not."""
        if self.ours == self.recorded:
            return 0.0
        return abs(self.ours - self.recorded) / self.recorded if self.recorded else float("inf")

    @property
    def near(self) -> bool:
        """Whether it is within NEAR."""
        return self.off <= NEAR

    @property
    def reasons(self) -> tuple[str, ...]:
        """Names of the reasons why it is off, where they are known."""
        return REASONS.get((self.counter, self.kernel), ())


def compare(sandbox: Sandbox, target: Target, cache: Path) -> list[Compared]:
    """Every counter that the emulator and the recordings have, kernel by kernel. Raises RuntimeError."""
    ran = run_file(FOLDER / "kernels.hip", sandbox, target, cache)
    ours = {dispatch.kernel: dispatch.counters for run in ran.runs for dispatch in run.dispatches}
    return [
        Compared(kernel, counter, recorded, ours[kernel].get(counter, 0.0))
        for kernel, counter, recorded in recordings()
    ]


def recordings() -> Iterator[tuple[str, str, float]]:
    """Kernel, counter and recorded value."""
    with open(FOLDER / "counters.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    for kernel in _ALL:
        for row in rows:
            yield kernel, row["counter"], float(row[kernel])
