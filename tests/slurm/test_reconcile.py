"""What is done about a submission, from what Slurm lists."""

from dataclasses import replace

import pytest

from amdkernel_mcp.slurm.commands import Comment, SlurmJob, SlurmNode
from amdkernel_mcp.slurm.reconcile import (
    MOST_RELEASES,
    MOST_TRIES,
    WORKER_S,
    Submission,
    decide,
    not_wanted,
)

KEY, OTHER = "00112233aabbccdd", "ffeeddcc99887766"
MINE = Submission(KEY, fence=2, tries=2)
DRAINED = SlurmNode("gpu1", "drained", "gpu:gfx942:2", "Prolog error")


def job(
    number: int, state: str, *, key: str = KEY, fence: int = 2, reason: str = "None", node: str = "", holder: str = "me"
) -> SlurmJob:
    return SlurmJob(str(number), state, node, reason, Comment(key, fence, holder))


def test_a_job_that_is_not_listed_was_lost_and_is_submitted_again_with_the_next_fence() -> None:
    decision = decide(MINE, [], 0.0)
    assert (decision.kind, decision.submission.fence, decision.submission.tries) == ("submit", 3, 3)


def test_a_job_of_another_key_with_the_lost_jobs_id_is_not_taken_for_it() -> None:
    decision = decide(MINE, [job(141, "RUNNING", key=OTHER)], 0.0)
    assert (decision.kind, decision.cancel) == ("submit", ())


def test_a_job_of_an_older_fence_is_cancelled_and_does_not_count() -> None:
    found = decide(MINE, [job(7, "RUNNING", fence=1), job(9, "PENDING", reason="Priority")], 0.0)
    assert (found.kind, found.job, found.cancel) == ("wait", "9", ("7",))
    lost = decide(MINE, [job(7, "RUNNING", fence=1)], 0.0)
    assert (lost.kind, lost.cancel) == ("submit", ("7",))


def test_of_two_jobs_with_the_same_fence_the_running_one_is_kept() -> None:
    decision = decide(MINE, [job(7, "PENDING"), job(9, "RUNNING", node="gpu2")], 0.0)
    assert (decision.job, decision.cancel) == ("9", ("7",))


def test_a_job_that_slurm_held_after_a_failed_node_is_released_a_few_times() -> None:
    held = [job(9, "PENDING", reason="launch failed requeued held")]
    mine = MINE
    for _ in range(MOST_RELEASES):
        decision = decide(mine, held, 0.0)
        assert (decision.kind, decision.job) == ("release", "9")
        mine = decision.submission
    ended = decide(mine, held, 0.0, [DRAINED])
    assert (ended.kind, ended.cancel) == ("fail", ("9",))
    assert "gpu1 is drained: Prolog error" in ended.say


def test_a_job_that_an_administrator_holds_is_left_alone() -> None:
    decision = decide(MINE, [job(9, "PENDING", reason="JobHeldAdmin")], 0.0)
    assert (decision.kind, decision.say) == ("wait", "waiting in Slurm's queue (JobHeldAdmin)")


def test_a_job_that_can_never_run_fails_at_once() -> None:
    decision = decide(MINE, [job(9, "PENDING", reason="BadConstraints")], 0.0)
    assert (decision.kind, decision.cancel) == ("fail", ("9",))
    assert "no node can ever run it" in decision.say


def test_a_job_whose_nodes_are_drained_waits_and_says_so() -> None:
    reason = "ReqNodeNotAvail, UnavailableNodes:gpu1"
    assert reason in decide(MINE, [job(9, "PENDING", reason=reason)], 0.0).say


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"])
def test_a_job_that_ended_before_its_worker_came_is_submitted_again_with_a_limit(state: str) -> None:
    ended = [job(9, state, node="gpu3")]
    assert decide(MINE, ended, 0.0).kind == "submit"
    last = decide(replace(MINE, tries=MOST_TRIES), ended, 0.0, [DRAINED])
    assert last.kind == "fail"
    assert f"ended as {state} on gpu3" in last.say
    assert "gpu1 is drained: Prolog error" in last.say


def test_a_job_that_somebody_cancelled_in_slurm_is_not_submitted_again() -> None:
    decision = decide(MINE, [job(9, "CANCELLED")], 0.0)
    assert decision.kind == "fail"
    assert "not by this server" in decision.say


def test_a_job_that_runs_without_its_worker_is_ended_and_submitted_again() -> None:
    running = [job(9, "RUNNING", node="gpu1")]
    first = decide(MINE, running, 100.0)
    assert (first.kind, first.submission.running_since_s) == ("wait", 100.0)
    assert decide(first.submission, running, 99.0 + WORKER_S).kind == "wait"
    late = decide(first.submission, running, 100.0 + WORKER_S)
    assert (late.kind, late.cancel, late.submission.running_since_s) == ("submit", ("9",), None)


def test_a_requeued_job_has_the_full_time_for_its_worker_again() -> None:
    seen = replace(MINE, running_since_s=100.0)
    assert decide(seen, [job(9, "PENDING", reason="BeginTime")], 150.0).submission.running_since_s is None


def test_jobs_that_nobody_waits_for_are_those_of_older_fences_forgotten_keys_and_dead_servers() -> None:
    jobs = [
        job(1, "RUNNING"),
        job(2, "PENDING", fence=1),
        job(3, "RUNNING", key=OTHER),
        job(4, "RUNNING", key=OTHER, holder="dead"),
        job(5, "RUNNING", key=OTHER, holder="alive"),
        job(6, "COMPLETED", key=OTHER, holder="dead"),
    ]
    assert [each.id for each in not_wanted(jobs, {KEY: 2}, "me", ["dead"])] == ["2", "3", "4"]
