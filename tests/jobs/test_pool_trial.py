"""The trial of a team on a pool: see pool_trial.py."""

from collections import Counter
from pathlib import Path

import pytest

from amdkernel_mcp.jobs.lanes import JOBS_PER_GPU
from tests.jobs.pool_trial import GPUS, HEALTHY, JOBS, SICK, SLOW, run_trial


@pytest.mark.thorough
def test_each_healthy_gpu_has_work_until_nothing_waits_and_the_sick_one_draws_none(tmp_path: Path) -> None:
    trial = run_trial(tmp_path)
    assert Counter(job.status for job in trial.jobs) == {"done": JOBS}
    assert {job.lane for job in trial.jobs} == {*HEALTHY, SLOW}
    for gpu in (*HEALTHY, SLOW):
        assert trial.share(gpu, trial.bound) > 0.95, gpu
    assert len(trial.bound[SICK]) <= JOBS_PER_GPU, "those that it had when it was found"
    assert sum(len(trial.leased[gpu]) for gpu in GPUS) == JOBS
