"""The verdict of a benchmark: faster, slower or inconclusive, from event times or from the roofline model.

Pure: what ran is given, nothing is run. A kernel that is not correct, or whose outputs were wrong in the timed run,
must not come here; the engine checks and judges first.
"""

from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.measured import measured
from amdkernel_mcp.measurement.modelled import modelled
from amdkernel_mcp.measurement.side import Side
from amdkernel_mcp.results.kernels import BenchmarkResult


def benchmark(
    *, candidate: Side, baseline: Side | None, gpu: Gpu, target: str, emulated: bool, floor: float | None = None
) -> BenchmarkResult:
    """How fast the candidate is, and against the baseline if there is one.

    Cases are compared one by one, in order; times are sums over the cases and the speed-up is the geometric mean.
    On a GPU, sample i of both sides is a pair that was timed in turns; `floor`: the noise floor of this GPU, if known.
    """
    if baseline is not None:
        _same_cases(candidate, baseline)
    if emulated:
        return modelled(candidate, baseline, gpu=gpu, target=target)
    return measured(candidate, baseline, gpu=gpu, target=target, floor=floor)


def _same_cases(candidate: Side, baseline: Side) -> None:
    ours, theirs = [run.case for run in candidate.runs], [run.case for run in baseline.runs]
    if ours != theirs:
        raise ValueError(f"candidate and baseline ran different cases: {ours} and {theirs}")
