"""Two kernels timed in turns by the runner, on the emulator with the simulated GPU clock behind HIP's events."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from conftest import EMULATOR
from runner_cases import A, B, three_buffers

from amdkernel_mcp.execution.runner.job import run_job
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.measurement.timing.interleaved import Plan, decide
from amdkernel_mcp.runner_protocol.job import Rival, RunnerJob
from amdkernel_mcp.runner_protocol.report import PairsReport

pytestmark = [pytest.mark.sandbox, pytest.mark.usefixtures("sandbox")]

SETS = 12
SUM = (A + B).tobytes()
Compare = Callable[[str, str], PairsReport]


@pytest.fixture(scope="module")
def compare(sandbox: Sandbox, code_object: bytes) -> Compare:
    """The pairs of a candidate and a rival of kernels.hip."""

    def run(candidate: str, rival: str) -> PairsReport:
        case, other = three_buffers(candidate, repeats=1), three_buffers(rival)
        plan = Rival(
            other.buffers,
            other.launches,
            pairs=28,
            least_pairs=9,
            budget_s=60,
            settle_s=0.01,
            settle_limit_s=60,
            event_us=100,
            most_launches=64,
            buffer_sets=SETS,
        )
        job = RunnerJob(
            "gfx942", code_object, (replace(case, rival=plan),), "time", 60, rival_code_object=code_object, clock_seed=7
        )
        report = run_job(sandbox, EMULATOR, job).cases[0]
        assert report.status == "ok", report.message
        assert report.pairs is not None
        return report.pairs

    return run


def test_a_slower_copy_is_slower_and_the_outputs_of_both_come_back(compare: Compare) -> None:
    pairs = compare("adds_after_a_while", "vector_add")
    assert decide(pairs.pairs_us, floor=None, plan=Plan()).verdict == "slower"
    assert 1 < pairs.batch <= pairs.buffer_sets == SETS, "short launches fill the time between two events"
    assert pairs.settled_us >= 10_000
    assert pairs.filled, "all launches of a sample are enqueued before its first event"
    assert [output["c"] for output in (*pairs.outputs, *pairs.rival_outputs)] == [SUM] * 8


@pytest.mark.thorough
def test_a_launch_that_is_left_out_leaves_poison_in_the_timed_outputs(compare: Compare) -> None:
    idle = compare("does_nothing", "vector_add")
    assert [output["c"] == SUM for output in idle.outputs] == [False] * 4
    tired = compare("adds_only_at_first", "vector_add")
    assert [output["c"] == SUM for output in tired.outputs] == [False] * 4, "the settling took more than 20 launches"
    assert all(output["c"] == SUM for output in tired.rival_outputs)
