"""The modelled time of recorded launches against the recorded one, each kernel held out in turn: `make bench`.

`--write` also writes docs/time_model.md.
"""

import sys
from collections.abc import Sequence
from math import log
from pathlib import Path
from statistics import median

from amdkernel_mcp.measurement.time_interval import FITTED
from benchmarks.recorded_times import HeldOut, coverage, cross_validated, fit, median_error, recorded_launches

PAGE = Path(__file__).parents[1] / "docs/time_model.md"
NEAR = 1.3
_HEAD = """# The model of time against recorded launches

Written by `python benchmarks/model.py --write`; do not edit.

A modelled time is an interval. Its middle is the cost of a launch plus the largest bound of [the roofline](metrics.md),
at the rates that micro-benchmarks reach instead of the peaks (of an MI300X 79 % of the memory's, 37 % of the Infinity
Cache's, 75 % of the L2's, 82 % of the vL1D's; `achievable` in `amdkernel_mcp/hardware/gpus.toml`), or the waits of its
waves where these are longer. Around it lies the range in which recorded launches lay; to the upper end comes what
`amdkernel_mcp/measurement/unmodelled.py` bounds. The code is `amdkernel_mcp/measurement/time_interval.py`.

Three parameters are fitted, to the launches of `benchmarks/recorded/times.csv`, and each kernel below was left out of
the fit that its interval comes from:
"""
_SOURCES = """## Where the recordings come from

Each row of `times.csv` has the traffic of a launch and the median of its durations, derived from public recordings:

* `ubench`: AMDResearch/intellikit at commit 1661f6987339ad260ad1f2b8e2a2d7557556f2a2, `metrix/resources/ubench` (MIT),
  rocprof-compute 3 with ROCm 6.4.1, one launch each;
* `rpc`: ROCm/rocm-systems at commit 1b1610fc2b2ab32af71e6e04e4d4a6a4ae597992,
  `projects/rocprofiler-compute/tests/workloads` (MIT), `vecCopy` of 1,048,576 doubles; the
  workload whose times went through a spreadsheet is left out;
* `laplacian`, `seismic`: amd/HPCTrainingExamples at commit 83f341a8d791876f515f7cf3bc41b5f6f7ad7ac5,
  `rocm-blogs-codes/finite-difference` and `rocm-blogs-codes/seismic-stencils` (MIT), rocprof on one GCD of an MI250X.
  Reads of 64 B that the vL1D asks for pair up in the L2 there: as in `rpc`, two count as one request;
* `torch`: AMD-AGI/TraceLens at commits 061493f6c140b38a9339bc424a243dc06ba74e4b and
  51323ee696ca1ef317f176e777e3997d3798335a, `tests/traces/mi300` (MIT), PyTorch's vectorised elementwise kernels on an
  MI300X. No counters were recorded: their traffic is their arrays, each once.

## What this does not prove

* No recording has both the traffic and the arithmetic of a kernel that its arithmetic, its LDS or its matrix
  instructions bound: their rates are peaks, and the width of the interval is all that stands for what they reach.
  Kernels whose arithmetic outweighs what was recorded (`initialize_polynomial_kernel`) and PyTorch's kernels with
  strides are left out.
* Latency was fitted to nothing. A kernel of few waves has a lower end of a fifth of the upper estimate of its waits,
  and an upper end with all of it: of these intervals the recordings say nothing.
* What a recorded launch finds in the caches is not known. `threshold_backward` found its inputs there.
* Parts other than these three have no recording: their intervals use the same three parameters.
"""


def main() -> None:
    """Print every held-out launch; with `--write`, write the page."""
    found = cross_validated(recorded_launches())
    for line in [*_rows(found), "", *_summary(found)]:
        print(line)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(found))


def page(found: Sequence[HeldOut]) -> str:
    """docs/time_model.md."""
    return "\n".join([_HEAD, *_summary(found), "", *_rows(found), "", _SOURCES])


def _summary(found: Sequence[HeldOut]) -> list[str]:
    fitted = fit([each.launch for each in found])
    near = sum(abs(log(each.ratio)) <= log(NEAR) for each in found)
    two_parameters = sum(abs(log(each.launch.us / (3 + each.launch.roof_us))) <= log(NEAR) for each in found)
    peaks = sum(abs(log(each.launch.us / each.launch.peak_us)) <= log(NEAR) for each in found)
    return [
        f"* {coverage(found):.0%} of the {len(found)} held-out durations lie in their interval, whose upper end is "
        f"{median(each.width for each in found):.1f} times its lower one (median);",
        f"* the middle is {median_error(found):.2f} times off (median), and within {NEAR - 1:.0%} of {near} of "
        f"{len(found)} durations; 3 us plus the bound is of {two_parameters}, the bound at the peaks alone of {peaks};",
        f"* fitted to all of them: a launch costs {fitted.launch_us:.1f} us, and nine of ten take {fitted.fastest:.2f} "
        f"to {fitted.slowest:.2f} times the middle. In use: {FITTED.launch_us:g} us, {FITTED.fastest:g} and "
        f"{FITTED.slowest:g}.",
    ]


def _rows(found: Sequence[HeldOut]) -> list[str]:
    rows = ["| source | GPU | kernel | recorded, us | modelled, us | recorded / middle | |"]
    rows += ["| --- | --- | --- | ---: | ---: | ---: | --- |"]
    for each in found:
        launch, interval = each.launch, each.interval
        rows.append(
            f"| {launch.source} | {launch.gpu.name} | `{launch.kernel}` | {launch.us:,.1f} | {interval.low_us:,.1f} to "
            f"{interval.high_us:,.1f} | {each.ratio:.2f} | {'' if each.inside else 'outside'} |"
        )
    return rows


if __name__ == "__main__":
    main()
