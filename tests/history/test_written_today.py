"""What calls of one user of a server add to the history in a day has a bound, also after a restart."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.config import Settings, load_settings
from amdkernel_mcp.errors import HistoryError
from amdkernel_mcp.history.recorder import Recorder, Tried
from amdkernel_mcp.history.retention import DAY_S
from amdkernel_mcp.history.written_today import WrittenToday
from amdkernel_mcp.results.kernels import CompileResult

ANSWER = CompileResult(ok=True, arch="gfx942")


def source(number: int) -> str:
    """400 KiB that no other call sends."""
    return f"// {number}\n" + "x" * (400 << 10)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    classes = {"leads": {"users": ["lead"], "disk_mib": 50}}
    return load_settings({"data_dir": tmp_path / "data", "user_disk_mib": 1, "classes": classes}, {})


@pytest.fixture
def recorder(settings: Settings) -> Iterator[Recorder]:
    made = Recorder(settings)
    yield made
    made.close()


def tries(recorder: Recorder, by: str, count: int = 5) -> list[str | None]:
    return [recorder.record(Tried("compile", source(each), "k.hip", by), ANSWER).not_recorded for each in range(count)]


def test_a_user_who_has_added_what_may_be_added_gets_answers_and_no_records(recorder: Recorder) -> None:
    said = tries(recorder, "user:ann")
    assert said[:3] == [None] * 3
    assert all("quota of files a day: 1 MiB of 1 MiB were added" in (each or "") for each in said[3:])
    files = sum(size for _, size in recorder.history().artefacts.entries())
    assert files < 3 * (401 << 10)


def test_another_user_a_class_with_more_and_the_user_of_this_machine_go_on(recorder: Recorder) -> None:
    tries(recorder, "user:ann")
    assert tries(recorder, "user:lead") == [None] * 5
    assert tries(recorder, "local") == [None] * 5


def test_the_same_kernel_again_is_counted_once(recorder: Recorder) -> None:
    for _ in range(6):
        assert recorder.record(Tried("compile", source(1), "k.hip", "user:ann"), ANSWER).not_recorded is None


def test_a_restart_forgets_nothing_and_a_day_does(recorder: Recorder, settings: Settings) -> None:
    tries(recorder, "user:ann")
    recorder.close()
    again = Recorder(settings)
    assert "quota of files" in (tries(again, "user:ann", 1)[0] or "")
    history = again.history()
    now_s = [history.written._clock()]
    later = WrittenToday(settings, history._engine, history.artefacts.size, lambda: now_s[0])
    with pytest.raises(HistoryError, match=r"a day old in 8\d\d\d\d s"):
        later.check("user:ann")
    now_s[0] += DAY_S
    later.check("user:ann")
    again.close()
