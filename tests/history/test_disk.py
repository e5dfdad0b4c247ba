"""A disk that is full, read-only, locked or damaged costs the record and never the answer."""

import gc
import json
import multiprocessing
import os
import socket
import sqlite3
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from amdkernel_mcp.config import Settings
from amdkernel_mcp.database import open_database as database
from amdkernel_mcp.history.recorder import Recorder, Tried
from amdkernel_mcp.results.kernels import CheckResult
from tests.history.disk import run_with

ANSWER = CheckResult(verdict="incorrect", reason="wrong", target="emulator:gfx942")
SMALL_DISK = 'mount -t tmpfs -o size=1m tmpfs "$1"'
FILLED = '; head -c 1M /dev/zero >"$1/fill" 2>/dev/null || true'
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"'


def outcome(printed: str) -> list[Any]:
    found: list[Any] = json.loads(printed.splitlines()[-1])
    return found


@pytest.mark.thorough
def test_a_full_disk_before_the_first_record(tmp_path: Path) -> None:
    fill = "Path(data, 'fill').write_bytes(bytes((1 << 20) - 4096))\n"
    verdict, attempt, why = outcome(run_with(SMALL_DISK, tmp_path, fill + "print(json.dumps(record()))"))
    assert (verdict, attempt) == ("incorrect", None)
    assert "No space left" in why or "disk is full" in why


@pytest.mark.thorough
@pytest.mark.sandbox
@pytest.mark.usefixtures("sandbox")
@pytest.mark.parametrize("mount", [SMALL_DISK + FILLED, READ_ONLY], ids=["full", "read-only"])
def test_a_check_on_such_a_disk_has_its_verdict_and_says_that_the_record_is_missing(tmp_path: Path, mount: str) -> None:
    script = """
from amdkernel_mcp.bundled import folder
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check import Check
engine = Engine(load_settings({"data_dir": data / "data", "cache_dir": data / "cache"}))
source = sorted((folder("examples") / "vector_add" / "kernels").glob("*.hip"))[0].read_text()
answer = engine.do(Check(problem="vector_add", source=source))
engine.close()
print(json.dumps([answer.verdict, answer.attempt, answer.not_recorded]))
"""
    verdict, attempt, why = outcome(run_with(mount, tmp_path, script))
    assert (verdict, attempt) == ("correct", None)
    assert why


def test_a_disk_that_becomes_full_and_has_room_again(tmp_path: Path) -> None:
    script = """
results = []
while not results or results[-1][1]:
    results.append(record(f"// {len(results)}" + "x" * 50_000))
lost = results[-1]
Path(data, "artefacts").rename(data / "away")
import shutil
shutil.rmtree(data / "away")
again = record("// there is room now")
kept = [recorder.history().find(each[1]).attempt.id for each in results[:-1]]
print(json.dumps([len(kept), lost, again]))
"""
    kept, lost, again = outcome(run_with(SMALL_DISK, tmp_path, script))
    assert kept >= 1
    assert lost[:2] == ["incorrect", None]
    assert "No space left" in lost[2] or "disk is full" in lost[2]
    assert again[0] == "incorrect"
    assert again[1]


@pytest.mark.parametrize("used", [False, True], ids=["at first use", "after records were made"])
def test_a_read_only_folder(tmp_path: Path, used: bool, file_settings: Settings) -> None:
    if used:
        recorder = Recorder(file_settings.model_copy(update={"data_dir": tmp_path}))
        assert recorder.record(Tried("check", "// kernel", "k.hip"), ANSWER).attempt
        recorder.close()
    verdict, attempt, why = outcome(run_with(READ_ONLY, tmp_path, "print(json.dumps(record()))"))
    assert (verdict, attempt) == ("incorrect", None)
    assert "read-only" in why.lower() or "readonly" in why


def test_a_read_only_folder_can_be_listed(tmp_path: Path, file_settings: Settings) -> None:
    recorder = Recorder(file_settings.model_copy(update={"data_dir": tmp_path}))
    attempt = recorder.record(Tried("check", "// kernel", "k.hip"), ANSWER).attempt
    recorder.close()
    printed = run_with(READ_ONLY, tmp_path, "print(json.dumps([each.id for each in recorder.history().list()]))")
    assert outcome(printed) == [attempt]


def hold(file: Path, locked: Event, release: Event) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("begin immediate")
        locked.set()
        release.wait(60)


@contextmanager
def locked_by_another_process(file: Path) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    locked, release = context.Event(), context.Event()
    process = context.Process(target=hold, args=(file, locked, release))
    process.start()
    try:
        assert locked.wait(60)
        yield
    finally:
        release.set()
        process.join()


def test_a_database_that_another_process_locks_for_long(
    file_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_BUSY_S", 0.2)
    recorder = Recorder(file_settings)
    assert recorder.record(Tried("check", "a", "k.hip"), ANSWER).attempt
    with locked_by_another_process(file_settings.data_dir / "history.sqlite3"):
        answer = recorder.record(Tried("check", "b", "k.hip"), ANSWER)
        assert (answer.verdict, answer.attempt) == ("incorrect", None)
        assert answer.not_recorded == "the history cannot be used: database is locked"
        assert len(recorder.history().list()) == 1
    assert recorder.record(Tried("check", "c", "k.hip"), ANSWER).attempt
    recorder.close()


@pytest.mark.thorough
def test_a_postgres_table_that_another_process_locks_for_long(
    postgres: Callable[[], str], file_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_BUSY_S", 0.2)
    url = postgres()
    recorder = Recorder(file_settings.model_copy(update={"database": url}))
    assert recorder.record(Tried("check", "a", "k.hip"), ANSWER).attempt
    other = create_engine(url.replace("postgresql:", "postgresql+pg8000:"))
    with other.begin() as connection:
        connection.execute(text("lock table attempts in exclusive mode"))
        answer = recorder.record(Tried("check", "b", "k.hip"), ANSWER)
        assert (answer.verdict, answer.attempt) == ("incorrect", None)
        assert answer.not_recorded == "the history cannot be used: canceling statement due to lock timeout"
    assert recorder.record(Tried("check", "c", "k.hip"), ANSWER).attempt
    recorder.close()
    other.dispose()


@contextmanager
def silent_server() -> Iterator[int]:
    """Accepts connections and never says a word. Yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_database_server_that_is_away_or_silent(file_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_SILENT_S", 0.5)
    with silent_server() as port, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the driver leaves the socket to the garbage collector
        for url in (f"postgresql://u:secret@127.0.0.1:{port}/h", "postgresql://u:secret@127.0.0.1:1/h"):
            recorder = Recorder(file_settings.model_copy(update={"database": url}))
            answer = recorder.record(Tried("check", "a", "k.hip"), ANSWER)
            assert (answer.verdict, answer.attempt) == ("incorrect", None)
            assert answer.not_recorded
            assert "secret" not in answer.not_recorded
            assert "internal error" not in answer.not_recorded
            recorder.close()
        gc.collect()


@pytest.mark.parametrize("damage", ["random bytes", "cut", "empty"])
def test_a_damaged_database(file_settings: Settings, damage: str) -> None:
    recorder = Recorder(file_settings)
    recorder.record(Tried("check", "a", "k.hip"), ANSWER)
    recorder.close()
    file = file_settings.data_dir / "history.sqlite3"
    content = file.read_bytes()
    harm = {"random bytes": content[:100] + os.urandom(len(content) - 100), "cut": content[:5000], "empty": b""}
    file.write_bytes(harm[damage])
    recorder = Recorder(file_settings)
    answer = recorder.record(Tried("check", "b", "k.hip"), ANSWER)
    assert answer.verdict == "incorrect"
    if damage == "empty":
        assert answer.attempt, "an empty file is a new database"
    else:
        assert answer.not_recorded
        assert answer.not_recorded.startswith("the history cannot be used: ")
    recorder.close()
