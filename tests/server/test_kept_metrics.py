"""Counts of jobs outlive the server that counted."""

import threading
from pathlib import Path

import pytest

from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.request import Request
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.server.metrics import Counts


def counted(counts: Counts) -> dict[str, float]:
    """Every sample by its name and labels."""
    samples = [sample for family in counts.metrics() for sample in family.samples]
    return {f"{each.name} {sorted(each.labels.items())}": each.value for each in samples}


def ended(verb: str = "check", seconds: float = 2.0) -> Job:
    job = Job("job-1", "user:ann", Request(verb, {}), status="done", answer=CheckResult(verdict="correct"))
    job.accepted_s, job.begun_s, job.finished_s = 0.5, 1.0, 1.0 + seconds
    return job


def test_what_was_read_once_is_there_after_a_restart_and_grows(tmp_path: Path) -> None:
    file = tmp_path / "data" / "metrics.json"
    first = Counts(file)
    first.job_ended(ended())
    first.job_ended(ended("benchmark", 70.0))
    first.save()
    assert file.stat().st_mode & 0o777 == 0o600
    again = Counts(file)
    assert counted(again) == counted(first)
    again.job_ended(ended())
    key = "amdkernel_jobs_total [('status', 'done'), ('verb', 'check')]"
    assert (counted(first)[key], counted(again)[key]) == (1, 2)


DAMAGED = (
    *("", "[]", "{}", '{"version": 0}', '{"version": 1, "counted": [], "timed": [{}, {}]}'),
    '{"version": 1, "counted": [[], [], []], "timed": [{"gpu": {"counts": [1]}}, {}]}',
)


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_is_as_none(tmp_path: Path, text: str) -> None:
    file = tmp_path / "metrics.json"
    file.write_text(text)
    assert counted(Counts(file)) == counted(Counts())


def test_counts_may_be_saved_while_jobs_end(tmp_path: Path) -> None:
    counts = Counts(tmp_path / "metrics.json")

    def count() -> None:
        for _ in range(200):
            counts.job_ended(ended())

    threads = [threading.Thread(target=count) for _ in range(4)]
    for each in threads:
        each.start()
    while any(each.is_alive() for each in threads):
        counts.save()
    counts.save()
    assert counted(Counts(tmp_path / "metrics.json")) == counted(counts)
