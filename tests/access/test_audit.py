"""The audit log: bounded lines, a refusal at once, the rest when it is closed at the latest, old lines removed."""

import logging
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from sqlalchemy import Engine, text

from amdkernel_mcp.access import audit as module
from amdkernel_mcp.access.audit import AuditLog, Event, Repeated

EVENT = Event(
    at=time.time(), user="ann", token="0a1b2c3d", address="192.0.2.1", action="check_kernel", target=None, job=None,
    attempt="kq7fx2", outcome="done", reason=None,
)  # fmt: skip


def test_lines_are_listed_newest_first_and_by_user(database: Engine) -> None:
    log = AuditLog(database, keep_days=90)
    log.write(EVENT, replace(EVENT, user="<b>bob</b>", outcome="refused", reason="no scope"))
    log.write(replace(EVENT, action="get_job"))
    assert [event.action for event in log.list()] == ["get_job", "check_kernel", "check_kernel"]
    assert [event.outcome for event in log.list(user="<b>bob</b>")] == ["refused"]
    assert log.list(limit=1) == [replace(EVENT, action="get_job")]


def test_what_is_noted_is_written_when_the_log_is_closed(database: Engine) -> None:
    log = AuditLog(database, keep_days=90)
    for number in range(1200):
        log.note(replace(EVENT, job=f"job-{number}"))
    log.close()
    assert len(log.list(limit=2000)) == 1200


def test_old_lines_are_removed(database: Engine) -> None:
    old = replace(EVENT, at=time.time() - 91 * 86400)
    AuditLog(database, keep_days=365).write(old, EVENT)
    log = AuditLog(database, keep_days=90)
    log.write(EVENT)
    assert log.list() == [EVENT, EVENT]


def test_a_text_of_a_caller_is_cut_and_cannot_break_the_log(database: Engine) -> None:
    log = AuditLog(database, keep_days=90)
    log.write(
        replace(EVENT, action="x" * 100_000, target="a\0b\n2026 forged\ud800", address="'); drop table audit; --")
    )
    (line,) = log.list()
    assert len(line.action) == 200
    assert line.target == "a\\x00b\\n2026 forged\\ud800"
    assert line.address == "'); drop table audit; --"


def test_a_refusal_that_cannot_be_written_is_in_the_servers_log(
    database: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    with database.begin() as connection:
        connection.execute(text("drop table audit"))
    log = AuditLog(database, keep_days=90)
    with caplog.at_level(logging.WARNING):
        log.write(replace(EVENT, outcome="refused", user="eve\x1b[31m"))
    assert "refused: check_kernel of eve\\x1b[31m from 192.0.2.1" in caplog.text


def test_the_same_refusal_is_one_line_a_minute_with_the_number_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 5.0
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    repeated = Repeated()
    assert [repeated.reason("no", "eve", "check") for _ in range(3)] == ["no", None, None]
    assert repeated.reason("no", "eve", "compile") == "no"
    now += 61
    assert repeated.reason("no", "eve", "check") == "no, and 2 more since the last line"
