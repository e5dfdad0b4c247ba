"""Of the places where a limit stopped waves, the line with most of them is reported."""

from amdkernel_mcp.findings.hangs import commonest_place, describe_absent_lane, describe_hang
from amdkernel_mcp.runner_protocol.records import StandingWaves

CHAINS = {16: [5, 30], 20: [5, 30], 24: [6], 28: []}  # by pc: the line, and that of the call


def standing(pc: int, waves: int, workgroup: int = 0, **rest) -> StandingWaves:
    return StandingWaves(pc=pc, workgroup=(workgroup, 0, 0), wave=1, waves=waves, **rest)


def place_of(*places: StandingWaves, at_barrier: bool = False):
    return commonest_place(places, lambda pc, _: CHAINS[pc], at_barrier=at_barrier)


def test_instructions_of_one_line_count_together():
    still = place_of(standing(24, 5), standing(16, 4, workgroup=7), standing(20, 3), standing(28, 20))
    assert still is not None
    assert list(still.chain) == [5, 30]
    assert str(still) == "7 of 32 waves were at line 5 (wave 1 of workgroup [7, 0, 0] among them)"


def test_a_single_wave_is_told_as_itself():
    assert str(place_of(standing(24, 1))) == "wave 1 of workgroup [0, 0, 0] was at line 6"


def test_without_lines_there_is_nothing_to_tell():
    assert place_of(standing(28, 3)) is None
    assert place_of() is None


def test_waves_at_a_barrier_are_told_beside_those_that_keep_them_there():
    places = (standing(24, 1), standing(16, 3, at_barrier=True), standing(28, 1, at_barrier=True))
    running, waiting = place_of(*places), place_of(*places, at_barrier=True)
    said = describe_hang("k", "2.9 s", running, waiting)
    assert said.startswith(
        "k was still running after 2.9 s: 1 of 5 waves was at line 6 (wave 1 of workgroup [0, 0, 0])"
    )
    assert ", 3 at the barrier of line 5. A loop or a wait" in said
    assert "keeps threads from that __syncthreads(), or the kernel is only slow" in said


def test_without_waves_at_a_barrier_none_is_spoken_of():
    said = describe_hang("k", "9 instructions", place_of(standing(24, 2)), None)
    assert "A loop never ends, a wait is never satisfied, or the kernel is only slow" in said
    assert "barrier" not in said


def test_what_can_never_end_is_not_called_slow():
    said = describe_hang("k", None, place_of(standing(24, 2)), None)
    assert said.startswith("k never ends: 2 of 2 waves were at line 6")
    assert "what is waited for there never comes" in said
    assert "slow" not in said
    beside = describe_hang(
        "k", None, place_of(standing(24, 2)), place_of(standing(16, 1, at_barrier=True), at_barrier=True)
    )
    assert "keeps threads from that __syncthreads()" in beside
    assert "slow" not in beside


def test_a_lane_that_is_missing_in_a_loop_is_reported_with_the_line_and_what_keeps_it_there():
    said = describe_absent_lane(14)
    assert "line 14 takes a value of a lane that is not in it" in said
    assert "__builtin_amdgcn_wave_barrier()" in said
