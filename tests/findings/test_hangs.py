"""Of the places where a limit stopped waves, the line with most of them is reported."""

from amdkernel_mcp.findings.hangs import commonest_place, describe_hang
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
    said = describe_hang("k", 2.94, running, waiting)
    assert said.startswith(
        "k was still running after 2.9 s: 1 of 5 waves was at line 6 (wave 1 of workgroup [0, 0, 0])"
    )
    assert ", 3 at the barrier of line 5. A loop or a wait" in said
    assert "keeps threads from that __syncthreads(), or the kernel is only slow" in said


def test_without_waves_at_a_barrier_none_is_spoken_of():
    said = describe_hang("k", 2.94, place_of(standing(24, 2)), None)
    assert "A loop never ends, a wait is never satisfied, or the kernel is only slow" in said
    assert "barrier" not in said
