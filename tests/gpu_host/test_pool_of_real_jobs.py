"""Two users, 40 real jobs for pools, four GPUs of the box: see real_pool_trial.py. Seven minutes on two busy cores."""

import os
import sys
from pathlib import Path

import pytest
from gpu_host_box import GpuHost
from real_pool_trial import GPUS, JOBS, SICK, four_gpus, make_one_slow_and_one_sick, run_trial
from trees import served

from tests.server.http_server import ANN, BOB, http_server

pytestmark = [
    pytest.mark.anyio, pytest.mark.sandbox, pytest.mark.thorough, pytest.mark.slow, pytest.mark.soak,
    pytest.mark.timeout(3600),
]  # fmt: skip


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_real_jobs_keep_each_healthy_gpu_busy_and_none_is_lost_to_the_sick_one(
    gpu_host: GpuHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{gpu_host.folder / 'bin'}:{os.environ['PATH']}")
    tokens = f"{ANN} ann\n{BOB} bob\n"
    config, cache = str(gpu_host.folder / "config.toml"), str(gpu_host.folder / "cache")
    with served(gpu_host, four_gpus()):
        make_one_slow_and_one_sick(gpu_host)
        try:
            with http_server(
                tmp_path, tokens=tokens, config=config, cache_dir=cache, user_queued_jobs=str(JOBS)
            ) as server:
                trial = await run_trial(server)
        finally:
            gpu_host.inside("sh", "-c", "rm /machine/gpu-*.json")
    sys.stdout.write("\n".join(trial.report()) + "\n")
    for gpu in GPUS:
        if gpu != SICK:
            assert trial.share(gpu) > 0.95, gpu
    good = {"check": {"correct"}, "benchmark": {"faster"}, "profile": {"done", "profiled", None}}
    assert len(trial.answers) == JOBS
    for verb, answer in trial.answers:
        assert answer.get("verdict", answer.get("status")) in good[verb], answer
        assert answer["target"] in {*GPUS} - {SICK}, "none ran on the sick GPU"
