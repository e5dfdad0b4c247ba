"""The timing method where the truth is known: two kernels on the simulated GPU clock. No time of it is measured."""

from amdkernel_mcp.measurement.timing.interleaved import compare
from amdkernel_mcp.measurement.timing.simulated_clock import SimulatedGpu, SimulatedPair, read_parameters
from amdkernel_mcp.results.selftest import SelftestRow

BASELINE_US = 50.0
SEEDS = range(5)
BUFFER_SETS = 8


def clock_rows() -> list[SelftestRow]:
    """Identical code must be inconclusive, 5 % more work slower, with each of a few fixed histories of the clock."""
    return [
        _row("identical code, on the simulated clock", 1.0, "inconclusive"),
        _row("a copy that does 5 % more, on the simulated clock", 1.05, "slower"),
    ]


def _row(name: str, work: float, expected: str) -> SelftestRow:
    got = [_verdict(seed, work) for seed in SEEDS]
    wrong = [verdict for verdict in got if verdict != expected]
    return SelftestRow(
        name=name,
        verb="simulated",
        expected=[expected],
        got=wrong[0] if wrong else expected,
        ok=not wrong,
        reason=f"{len(got) - len(wrong)} of {len(got)} comparisons are {expected}",
    )


def _verdict(seed: int, work: float) -> str:
    gpu = SimulatedGpu(read_parameters(), seed=seed, buffer_sets=BUFFER_SETS)
    pair = SimulatedPair(gpu, candidate_us=BASELINE_US * work, baseline_us=BASELINE_US)
    return compare(pair, floor=None).verdict
