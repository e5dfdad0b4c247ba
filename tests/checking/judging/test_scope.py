import re
from typing import Any

from amdkernel_mcp.checking.judging.scope import gaps_of, scope_of, sizes_beyond
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.runner_protocol.records import DispatchRecord
from amdkernel_mcp.runner_protocol.report import CaseReport


def dispatch(*, groups: int = 1, **seen):
    empty: dict[str, Any] = {"counters": {"SQ_INSTS": 5000}, "pcs": None, "fault": None, "seconds": 0.1}
    return DispatchRecord(kernel="k", grid=(groups, 1, 1), block=(64, 1, 1), lds_bytes=0, **empty, **seen)


def raced(*, groups: int = 1, in_groups: int | None = None, **seen):
    followed = groups if in_groups is None else in_groups
    return dispatch(groups=groups, races_checked=True, race_groups=followed, **seen)


def ran(*dispatches, status="ok"):
    return CaseReport(status, "", (), dispatches=dispatches)


SMALL = ran(dispatch(), raced(), dispatch(schedule_seed=1))
LARGE = ran(dispatch(groups=4096), raced(groups=4096, in_groups=96), dispatch(groups=4096))


def test_a_case_whose_workgroups_were_sampled_is_named_with_the_reason():
    scope = scope_of(["n=1", "n=9"], [SMALL, LARGE])
    assert (scope.cases, scope.memory, scope.races, scope.races_sampled, scope.orders) == (2, 2, 2, 1, 1)
    assert "case n=9 in 96 of 4,096 workgroups, because it executes 5,000 instructions" in scope.note


def test_the_sentence_says_what_was_not_covered_and_nothing_where_all_was():
    assert gaps_of(["n=1"], [SMALL], orders=True) == ""
    said = gaps_of(["n=1", "n=9"], [SMALL, LARGE], orders=True)
    assert said == "races were looked for in 96 of 4,096 workgroups of case n=9; case n=9 ran in the plain order only"
    assert "order" not in gaps_of(["n=9"], [LARGE], orders=False)


def test_a_sample_in_which_workgroups_are_not_compared_is_no_secret():
    own = ran(dispatch(groups=99), raced(groups=99, in_groups=64, race_own_group=True))
    assert "64 of 99 workgroups (only among the waves of each) of case n=1" in gaps_of(["n=1"], [own], orders=False)


def test_all_launches_of_a_case_count_once():
    two = ran(
        dispatch(groups=10), dispatch(groups=500), raced(groups=10), raced(groups=500, in_groups=64),
        raced(groups=10, schedule_seed=1), raced(groups=500, in_groups=64, schedule_seed=1),
    )  # fmt: skip
    assert "74 of 510 workgroups" in gaps_of(["n=1"], [two], orders=True)


def test_races_that_were_followed_in_part_are_told():
    reports = [ran(raced(races_in_part=True))]
    scope = scope_of(["n=1"], reports)
    assert (scope.races, scope.races_in_part) == (1, 1)
    assert "only in part in case n=1" in scope.note
    assert gaps_of(["n=1"], reports, orders=False) == "races were looked for in part of the memory of case n=1"


def test_a_case_that_stopped_first_was_not_looked_at_for_races():
    scope = scope_of(["n=1", "n=2"], [ran(dispatch(), status="fault"), ran(status="not_run")])
    assert (scope.memory, scope.races) == (1, 0)
    assert "not in case n=1, which stopped before; case n=2 did not run" in scope.note


def test_sizes_with_which_a_kernel_is_timed_and_was_not_tried_are_named():
    product = load_problem("gemm_f32")
    small = [case for case in product.cases if case not in product.profile_cases]
    assert re.fullmatch(r"no size beyond (m = [\d,]+, n = [\d,]+, k = [\d,]+) was tried", sizes_beyond(product, small))
    assert sizes_beyond(product, [*small, *product.profile_cases]) == ""
