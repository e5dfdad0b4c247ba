"""Of the places where a limit stopped waves, the line with most of them is told."""

from amdkernel_mcp.execution.runner_answer import StandingWaves
from amdkernel_mcp.problems.hangs import commonest_place

CHAINS = {16: [5, 30], 20: [5, 30], 24: [6], 28: []}  # by pc: the line, and that of the call


def standing(pc: int, waves: int, workgroup: int = 0) -> StandingWaves:
    return StandingWaves(pc=pc, workgroup=(workgroup, 0, 0), wave=1, waves=waves)


def place_of(*places: StandingWaves):
    return commonest_place(places, lambda pc, _: CHAINS[pc])


def test_instructions_of_one_line_count_together():
    still = place_of(standing(24, 5), standing(16, 4, workgroup=7), standing(20, 3), standing(28, 20))
    assert still is not None
    assert list(still.chain) == [5, 30]
    assert str(still) == "7 of 32 waves were at line 5, as wave 1 of workgroup [7, 0, 0]"


def test_a_single_wave_is_told_as_itself():
    assert str(place_of(standing(24, 1))) == "wave 1 of workgroup [0, 0, 0] was at line 6"


def test_without_lines_there_is_nothing_to_tell():
    assert place_of(standing(28, 3)) is None
    assert place_of() is None
