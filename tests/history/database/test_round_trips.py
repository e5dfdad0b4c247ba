"""What a record costs a Postgres server: how often the driver waits for it."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.database import open_database
from amdkernel_mcp.history.recorder import Recorder, Tried
from amdkernel_mcp.problems.problem_file import load_problem
from amdkernel_mcp.results.kernels import CheckResult, Finding

pytestmark = pytest.mark.thorough


def test_a_record_with_lessons_waits_for_the_server_six_times(
    postgres: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = pytest.importorskip("pg8000.core")
    sent: list[object] = []
    flush = core._flush

    def counted(stream: object) -> None:
        if (
            threading.current_thread() is threading.main_thread()
        ):  # the history's own thread removes old files meanwhile
            sent.append(stream)
        flush(stream)

    monkeypatch.setattr(core, "_flush", counted)
    monkeypatch.setattr(open_database, "_TRUSTED_S", 600.0)  # a busy machine asks more often whether it is there
    recorder = Recorder(load_settings({"data_dir": tmp_path, "cache_dir": tmp_path, "database": postgres()}, {}))
    try:
        found = [Finding(kind="race", message=f"{n} lanes write tile[0]", line=n + 1) for n in range(3)]
        answer = CheckResult(verdict="incorrect", reason="wrong", findings=found, target="emulator:gfx942")
        for number in range(3):
            sent.clear()
            tried = Tried("check", f"// {number}", "k.hip", problem=load_problem("vector_add"))
            assert recorder.record(tried, answer).attempt
        assert len(sent) == 6, "two statements of three"
    finally:
        recorder.close()
