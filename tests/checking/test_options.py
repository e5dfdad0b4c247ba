import pytest

from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.errors import InputError


@pytest.mark.parametrize("wrong", [{"order": 10**100}, {"order": 0}, {"schedules": 33}, {"schedules": -1}])
def test_a_number_out_of_range_is_a_mistake_of_the_caller(wrong):
    with pytest.raises(InputError):
        CheckOptions(**wrong)


def test_one_order_to_replay_takes_the_place_of_the_others():
    assert CheckOptions(order=7, schedules=5).repeats() == 3
    assert CheckOptions(schedules=5).repeats(shares=True) == 7
    assert CheckOptions().repeats() == 4


def test_a_kernel_whose_workgroups_communicate_runs_twelve_times():
    assert CheckOptions().repeats(shares=True) == 12
