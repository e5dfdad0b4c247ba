"""What the roofline leaves out of a dispatch's time, as upper estimates: a verdict that it could turn is refused.

The roofline is a lower bound. A kernel can have few instructions and little traffic and still be slow: one wave does
all the work, one address takes all atomics, or millions of workgroups start and do nothing. None of these is modelled
here. Each gets a time that a real GPU hardly exceeds, from counts of the emulator, and `faster` requires the kernel to
win with all of them against a baseline that has none.

Sources: recordings of MI200 and MI300X for the latency of memory (0.34 us without load) and for the start of waves; the
instruction set manuals for the clocks of the LDS. The others are assumptions on the slow side, which a recording may
replace.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.counters import Dispatch
from amdkernel_mcp.measurement.roofline import busy_units, pipelines

MEMORY_US, L2_US, L1_US, SCALAR_US = 0.8, 0.3, 0.08, 0.2
"""Of an access that memory, the L2, the vL1D or the scalar cache answers, under load."""
LDS_CLOCKS = 128
"""Of an access to LDS."""
DEPENDENT = 1.5
"""Times the issue clocks: between two instructions of a wave, as some of them need the one before."""
MOST_READS = 8
"""Reads that are believed to share a wait, in the wave that has most of them."""
ATOMIC_US = 0.01
"""Between two atomics on one line, and `ATOMIC_LANE_US` for each further word of a request."""
ATOMIC_LANE_US = 0.001
GROUP_START_CLOCKS, WAVE_START_CLOCKS = 28, 7
"""Between two workgroups, and two waves, that start on one shader engine: an MI250X started 524,288 workgroups of four
waves on its eight engines while it filled 1 GiB in 1,088 us (docs/time_model.md), so that neither can take longer."""
BARRIER_CLOCKS = 100
"""From the last wave's arrival until all continue, and what they wait for each other."""
INSTS_PER_SLEEP = 2
"""Of a loop that sleeps: the s_sleep and the branch."""
SCATTERED_LINES = 16
"""Lines per memory instruction from which the address translation may cost as much as the accesses."""


@dataclass(frozen=True)
class Unmodelled:
    """Upper estimates for a case in microseconds, each 0 where it cannot add to the modelled time."""

    latency: float = 0.0
    busiest_wave: float = 0.0
    wave_starts: float = 0.0
    atomics: float = 0.0
    translation: float = 0.0
    sleep: float = 0.0

    @property
    def total_us(self) -> float:
        """All of them, as if none overlapped another."""
        return float(sum(vars(self).values()))

    @property
    def largest(self) -> str:
        """What the largest of them is, as part of a sentence."""
        return SENTENCES[max(vars(self), key=lambda name: vars(self)[name])]

    def __add__(self, other: "Unmodelled") -> "Unmodelled":
        return Unmodelled(*(vars(self)[name] + vars(other)[name] for name in vars(self)))


SENTENCES: Mapping[str, str] = {
    "latency": "waits for memory with few waves to hide them",
    "busiest_wave": "one wave that does much more than the others",
    "wave_starts": "the start of its many waves",
    "atomics": "atomics on one cache line",
    "translation": "scattered accesses that each need an address translation",
    "sleep": "s_sleep and instructions on whole caches",
}


def unmodelled(
    dispatch: Dispatch,
    gpu: Gpu,
    *,
    time_us: float,
    waves_per_simd: int | None = None,
    sleeps: Mapping[int, int] | None = None,
) -> Unmodelled:
    """The estimates for a dispatch whose roofline time is `time_us`. `waves_per_simd`: the kernel's occupancy limit.

    sleeps: clocks of each instruction that only passes time, by its address.
    """
    count = dispatch.count
    rounds = _rounds(dispatch, gpu, waves_per_simd)
    starts = max(dispatch.workgroups * GROUP_START_CLOCKS, count("SQ_WAVES") * WAVE_START_CLOCKS)
    mean_us, longest_us = _wave_us(dispatch, gpu, longest=False), _wave_us(dispatch, gpu, longest=True)
    return Unmodelled(
        latency=max(rounds * mean_us - time_us, 0.0),
        busiest_wave=max(longest_us - mean_us, 0.0),
        wave_starts=max(starts / gpu.shader_engines / gpu.clock_mhz - time_us, 0.0),
        atomics=_atomics_us(dispatch),
        translation=time_us if _lines_per_access(dispatch) > SCATTERED_LINES else 0.0,
        sleep=_asleep_clocks(dispatch, rounds, sleeps or {}) / gpu.clock_mhz,
    )


def latency_us(dispatch: Dispatch, gpu: Gpu, *, waves_per_simd: int | None = None) -> float:
    """An upper estimate of the waits: of all rounds of resident waves, or of the longest wave, with their barriers.

    By Little's law a level of memory delivers what the resident waves have in flight per latency; in rounds of waves
    that is rounds x waits of a wave x latency.
    """
    rounds = _rounds(dispatch, gpu, waves_per_simd)
    barriers = dispatch.count("barriers") / max(dispatch.count("SQ_WAVES"), 1.0)
    waits_us = max(rounds * _wave_us(dispatch, gpu, longest=False), _wave_us(dispatch, gpu, longest=True))
    return waits_us + rounds * barriers * BARRIER_CLOCKS / gpu.clock_mhz


def longest_wave_us(dispatch: Dispatch, gpu: Gpu) -> float:
    """An upper estimate of the time of the wave that executes most, as if it were alone."""
    return _wave_us(dispatch, gpu, longest=True)


def _rounds(dispatch: Dispatch, gpu: Gpu, waves_per_simd: int | None) -> float:
    """How often the GPU is filled with waves: at least once."""
    waves = max(dispatch.count("SQ_WAVES"), 1.0)
    return waves / max(busy_units(dispatch, gpu, waves_per_simd=waves_per_simd).resident_waves, 1.0)


def _asleep_clocks(dispatch: Dispatch, rounds: float, sleeps: Mapping[int, int]) -> float:
    """Of all waves alike, or of one wave that sleeps as often as its instructions allow: the longer time."""
    slept = [
        (dispatch.pcs[address].executions, clocks) for address, clocks in sleeps.items() if address in dispatch.pcs
    ]
    if not slept:
        return 0.0
    count = dispatch.count
    alike = rounds * sum(times * clocks for times, clocks in slept) / max(count("SQ_WAVES"), 1.0)
    most = count("longest_wave_insts") / INSTS_PER_SLEEP
    return max(alike, sum(min(times, most) * clocks for times, clocks in slept))


def _wave_us(dispatch: Dispatch, gpu: Gpu, *, longest: bool) -> float:
    """Of one wave alone, the average one or the longest: each wait takes a whole latency. Stores are not waited for."""
    count = dispatch.count
    waves = max(count("SQ_WAVES"), 1.0)
    names = ("waits_for_memory", "waits_for_lds", "waits_for_scalars", "SQ_INSTS")
    memory, lds, scalar, instructions = (count(name) / waves for name in names)
    # A wait in a loop may find nothing to wait for; atomics that return a value are among the reads.
    memory = min(memory, count("SQ_INSTS_VMEM_RD") / waves)
    if longest:
        share = max(count("longest_wave_insts") / max(instructions, 1.0), 1.0)
        instructions, lds, scalar = instructions * share, lds * share, scalar * share
        memory = max(memory, _longest_reads(dispatch) / _reads_per_wait(dispatch))
    clocks = instructions * pipelines(gpu).issue_clocks * DEPENDENT + lds * LDS_CLOCKS
    return memory * load_us(dispatch) + scalar * SCALAR_US + clocks / gpu.clock_mhz


def _longest_reads(dispatch: Dispatch) -> float:
    """Loads of the wave with most accesses, which are counted together with its stores and scalar loads."""
    count = dispatch.count
    others = count("SQ_INSTS_VMEM_WR") + count("SQ_INSTS_SMEM")
    reads = count("SQ_INSTS_VMEM_RD")
    return count("longest_wave_accesses") * reads / max(reads + others, 1.0)


def _reads_per_wait(dispatch: Dispatch) -> float:
    reads = dispatch.count("SQ_INSTS_VMEM_RD") / max(dispatch.count("waits_for_memory"), 1.0)
    return min(max(reads, 1.0), MOST_READS)


def load_us(dispatch: Dispatch) -> float:
    """The mean latency of a load, by where the cache model finds its lines."""
    count = dispatch.count
    lines = count("cache_lines_loaded")
    if not lines:
        return MEMORY_US
    l1 = min(count("l1_line_hits") / lines, 1.0)
    l2 = (1 - l1) * count("TCC_HIT_sum") / max(count("TCC_REQ_sum"), 1.0)
    return l1 * L1_US + l2 * L2_US + (1 - l1 - l2) * MEMORY_US


def _atomics_us(dispatch: Dispatch) -> float:
    """Of the line that has most: one request after the other, each with as many words as the average one."""
    requests = dispatch.count("TCC_ATOMIC_sum")
    if not requests:
        return 0.0
    words = dispatch.count("bytes_atomic") / 4 / requests
    return dispatch.count("atomics_on_one_line") * (ATOMIC_US + max(words - 1, 0.0) * ATOMIC_LANE_US)


def _lines_per_access(dispatch: Dispatch) -> float:
    lines = dispatch.count("cache_lines_loaded") + dispatch.count("cache_lines_stored")
    return lines / max(dispatch.count("SQ_INSTS_VMEM"), 1.0)
