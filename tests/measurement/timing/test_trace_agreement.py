"""Event times compared with a kernel trace of the same launches: a trace that is off by more than 10 % is noticed."""

from collections.abc import Sequence

import pytest

from amdkernel_mcp.measurement.timing.interleaved import candidate_first
from amdkernel_mcp.measurement.timing.trace_agreement import (
    Agreement,
    TracedLaunch,
    agreement,
    gap_shares,
    launch_bound,
)
from amdkernel_mcp.runner_protocol.job import Rival, RunCase, RunnerLaunch
from amdkernel_mcp.runner_protocol.report import PairsReport

MINE_US, THEIRS_US, BATCH, PAIRS = 100.0, 150.0, 4, 9
ONE = RunnerLaunch("mine", (1, 1, 1), (64, 1, 1), 0, ())
TWO = (RunnerLaunch("first", (1, 1, 1), (64, 1, 1), 0, ()), RunnerLaunch("second", (1, 1, 1), (64, 1, 1), 0, ()))
RIVAL = Rival((), TWO, pairs=PAIRS, least_pairs=PAIRS, budget_s=1, settle_s=1, settle_limit_s=1, event_us=200,
              most_launches=64, buffer_sets=8)  # fmt: skip
CASE = RunCase((), (ONE,), rival=RIVAL)
TIMES = PairsReport(((MINE_US, THEIRS_US),) * PAIRS, BATCH, 8, 1e6, (), (), process=41)
KERNELS = frozenset({"mine", "first", "second"})


def trace(*, mine: float = 1.0, theirs: float = 1.0) -> list[TracedLaunch]:
    """Launches as the pairs make them, after some of the settling; a kernel of the runtime comes before each sample."""
    found, now = [TracedLaunch("mine", 0, 5), TracedLaunch("first", 6, 9)], 10

    def add(kernel: str, us: float) -> None:
        nonlocal now
        found.append(TracedLaunch(kernel, now, now + int(1000 * us)))
        now += int(1000 * us)

    for pair in range(PAIRS):
        for side in (0, 1) if candidate_first(pair) else (1, 0):
            add("__amd_rocclr_fillBufferAligned", 900.0)
            for _ in range(BATCH):
                for launch in (ONE,) if side == 0 else TWO:
                    add(launch.kernel, MINE_US * mine if side == 0 else THEIRS_US / 2 * theirs)
    return found


def compare(launches: Sequence[TracedLaunch], process: int = 41) -> Agreement:
    return agreement([CASE], ["n=1"], [TIMES], {process: launches}, kernels=KERNELS)


def test_the_same_times_agree() -> None:
    found = compare(trace())
    assert found.state == "agrees"
    assert found.ratio.low == found.ratio.high == pytest.approx(1.0)


@pytest.mark.parametrize("share", [0.93, 1.07])
def test_times_within_a_tenth_agree(share: float) -> None:
    assert compare(trace(mine=share)).state == "agrees"


@pytest.mark.parametrize(("off", "which", "ratio"), [
    ({"mine": 1.2, "theirs": 1.2}, "this kernel", "0.83"),
    ({"mine": 0.8}, "this kernel", "1.25"),
    ({"theirs": 1.2}, "the baseline", "0.83"),
])  # fmt: skip
def test_a_trace_that_is_off_by_a_fifth_disagrees_and_names_the_side(
    off: dict[str, float], which: str, ratio: str
) -> None:
    found = compare(trace(**off))
    assert found.state == "disagrees"
    assert f"in case n=1 those of {which} are {ratio} times as long" in found.sentence


def test_gaps_between_the_launches_of_a_sample_are_in_both_times() -> None:
    launches = [TracedLaunch(one.kernel, one.start_ns, one.end_ns - 20_000) for one in trace()]
    assert compare(launches).state == "agrees", "a fifth of each launch is a gap, but the samples are as long"


@pytest.mark.parametrize(("launches", "why"), [
    (trace()[-20:], "the kernel trace has 18 of the 108 launches of case n=1"),
    ([], "has 0 of the 108 launches"),
    ([TracedLaunch(one.kernel, 7, 7) for one in trace()], "without a duration"),
])  # fmt: skip
def test_a_trace_that_lacks_launches_or_times_is_no_agreement(launches: list[TracedLaunch], why: str) -> None:
    found = compare(launches)
    assert (found.state, found.ratio.value) == ("not_measured", None)
    assert why in found.sentence


def test_launches_of_another_process_do_not_count() -> None:
    assert compare(trace(), process=42).state == "not_measured"


def gaps(mine_share: float, theirs_share: float) -> dict[tuple[str, int], float]:
    """The gaps where the launches of either side ran for this share of the event times."""
    shares = {"mine": mine_share, "first": theirs_share, "second": theirs_share}
    launches = [
        TracedLaunch(one.kernel, one.start_ns, one.start_ns + int((one.end_ns - one.start_ns) * shares[one.kernel]))
        for one in trace()
        if one.kernel in shares
    ]
    return gap_shares(["n=1"], [TIMES], compare(launches))


def test_the_share_of_the_time_in_which_no_launch_ran_is_told_by_side() -> None:
    assert gaps(0.8, 0.5) == {("n=1", 0): pytest.approx(0.2), ("n=1", 1): pytest.approx(0.5)}
    assert gaps(1.1, 1.0) == {("n=1", 0): 0.0, ("n=1", 1): pytest.approx(0.0)}, "launches that overlap leave no gap"
    assert gap_shares(["n=1"], [TIMES], compare([])) == {}, "without a trace it is not known"


def test_times_that_are_mostly_gaps_are_those_of_launching() -> None:
    assert launch_bound(gaps(0.8, 0.76)) is None
    assert launch_bound({}) is None
    assert launch_bound(gaps(0.9, 0.4)) == (
        "in 60% of the time of the baseline in case n=1 the GPU works on none of its launches: that is the time of "
        "launching, so take a larger case"
    )
