from typing import Any

from amdkernel_mcp.checking.scope import scope_of
from amdkernel_mcp.runner_protocol.records import DispatchRecord
from amdkernel_mcp.runner_protocol.report import CaseReport


def dispatch(**seen):
    empty: dict[str, Any] = {"counters": {}, "pcs": None, "fault": None, "seconds": 0.1}
    return DispatchRecord(kernel="k", grid=(1, 1, 1), block=(64, 1, 1), lds_bytes=0, **empty, **seen)


def ran(*dispatches, status="ok"):
    return CaseReport(status, "", (), dispatches=dispatches)


def test_a_case_that_took_too_long_is_named_with_the_reason():
    small = ran(dispatch(), dispatch(races_checked=True), dispatch(schedule_seed=1))
    coverage = scope_of(["n=1", "n=9"], [small, ran(dispatch(), dispatch())], [1.0, 0.3])
    assert (coverage.cases, coverage.memory, coverage.races, coverage.orders) == (2, 2, 1, 1)
    assert "races were checked in 1 of 2 cases; not in case n=9, whose launches took more than 0.3 s" in (coverage.note)


def test_races_that_were_followed_in_part_are_told():
    coverage = scope_of(["n=1"], [ran(dispatch(races_checked=True, races_in_part=True))], [1.0])
    assert (coverage.races, coverage.races_in_part) == (1, 1)
    assert "only in part in case n=1" in coverage.note


def test_a_case_that_stopped_first_was_not_looked_at_for_races():
    coverage = scope_of(["n=1", "n=2"], [ran(dispatch(), status="fault"), ran(status="not_run")], [1.0, 1.0])
    assert (coverage.memory, coverage.races) == (1, 0)
    assert "not in case n=1, which stopped before; case n=2 did not run" in coverage.note
