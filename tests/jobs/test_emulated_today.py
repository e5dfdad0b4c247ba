"""The seconds on emulators of a user survive a restart: else a restart would be a new budget."""

from pathlib import Path

from amdkernel_mcp.jobs.emulated_today import DAY_S, EmulatedToday
from amdkernel_mcp.jobs.job import Job
from amdkernel_mcp.jobs.request import Request


def job(owner: str = "user:ann", lane: str = "emulator") -> Job:
    return Job("job-1", owner, Request("check"), lane=lane)


def test_a_restart_forgets_no_seconds_and_a_day_later_they_are_free_again(tmp_path: Path) -> None:
    file, now_s = tmp_path / "data/emulated.json", [1_000_000.0]
    first = EmulatedToday(lambda: now_s[0] - 999_990, file, lambda: now_s[0])
    for lane in ("emulator", "emulator of box", "gpu1:0", "compile"):
        first.add(job(lane=lane), 100.0)
    first.add(job("user:bob"), 7.0)
    now_s[0] += 3600
    first.add(job(), 50.0)
    again = EmulatedToday(lambda: now_s[0] - 1_003_000, file, lambda: now_s[0])
    assert again.of("user:ann", []) == (250.0, DAY_S - 3600)
    assert again.of("user:bob", [])[0] == 7.0
    now_s[0] += DAY_S - 3600
    assert again.of("user:ann", [])[0] == 50.0
    assert file.stat().st_mode & 0o777 == 0o600
    now_s[0] += 3600
    assert EmulatedToday(lambda: 0.0, file, lambda: now_s[0]).of("user:ann", []) == (0.0, DAY_S)


def test_a_damaged_file_is_as_none(tmp_path: Path) -> None:
    file = tmp_path / "emulated.json"
    for text in ("", "[]", '{"version": 2}', '{"version": 1, "used": {"user:ann": [[null, 1]]}}', '{"version": 1}'):
        file.write_text(text)
        assert EmulatedToday(lambda: 0.0, file).of("user:ann", [])[0] == 0.0


def test_many_short_jobs_are_few_entries(tmp_path: Path) -> None:
    now_s = [0.0]
    today = EmulatedToday(lambda: now_s[0], tmp_path / "emulated.json")
    for _ in range(200):
        now_s[0] += 1
        today.add(job(), 1.0)
    assert today.of("user:ann", [])[0] == 200.0
    assert (tmp_path / "emulated.json").stat().st_size < 500
