"""`amdkernel admin` at a shell: a token is printed once, and no list has one."""

import json
from pathlib import Path
from typing import Any

import pytest

from amdkernel_mcp.access.audit import AuditLog, Event
from amdkernel_mcp.access.opened import open_access
from amdkernel_mcp.access.scopes import SCOPES
from amdkernel_mcp.access.tokens import TokenStore
from amdkernel_mcp.cli.main import run
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.jobs.job import Job, new_id
from amdkernel_mcp.jobs.journal import Journal
from amdkernel_mcp.jobs.request import Request
from amdkernel_mcp.leases.gpu_health import GpuHealth
from amdkernel_mcp.server.token_file import read_token

FILE_TOKEN = "token-of-ann-0123456789"


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMDKERNEL_DATA_DIR", str(tmp_path / "data"))


def answer(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> Any:
    assert run(["admin", *words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_a_token_is_printed_once_and_works_until_it_is_revoked(capsys: pytest.CaptureFixture[str]) -> None:
    new = answer(capsys, "tokens", "add", "ann", "--scope", "docs", "--scope", "check", "--days", "3")
    token, token_id = new["token"], new["added"]["id"]
    assert new["added"]["scopes"] == ["docs", "check"]
    database = open_access(load_settings())
    assert TokenStore(database).find(token) is not None
    listed = answer(capsys, "tokens", "list")
    assert [(each["id"], each["state"]) for each in listed["tokens"]] == [(token_id, "valid")]
    assert token not in json.dumps(listed)
    assert answer(capsys, "tokens", "revoke", token_id)["tokens"][0]["state"] == "revoked"
    assert TokenStore(database).find(token) is None
    database.dispose()


def test_a_revoked_token_names_the_jobs_that_its_user_still_has(capsys: pytest.CaptureFixture[str]) -> None:
    tokens = [answer(capsys, "tokens", "add", user)["added"]["id"] for user in ("ann", "ann", "bob")]
    journal = Journal(load_settings(), "http")
    here = [Job(new_id(), owner, Request("check", {})) for owner in ("user:ann", "user:ann", "user:bob")]
    for each in here:
        each.fence = journal.accept(each)
    assert journal.end(here[0], "done", None)
    journal.close()
    assert answer(capsys, "tokens", "revoke", tokens[0])["unfinished_jobs"] == [here[1].id]
    assert run(["admin", "tokens", "revoke", tokens[1]]) == 0
    shown = capsys.readouterr().out
    assert "ann has 1 unfinished job" in shown
    assert f"amdkernel job {here[1].id} --cancel --url ADDRESS" in shown
    assert here[2].id not in shown
    assert answer(capsys, "tokens", "revoke", answer(capsys, "tokens", "add", "cid")["added"]["id"]) | {
        "tokens": []
    } == {"tokens": [], "unfinished_jobs": []}


def test_a_token_is_written_to_a_file_that_a_worker_accepts_and_to_no_file_that_is_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "worker.token"
    words = ["tokens", "add", "gpu7", "--scope", "worker", "--to", str(file)]
    assert run(["admin", *words]) == 0
    shown = capsys.readouterr().out
    token = read_token(file)
    assert token is not None
    assert token not in shown
    assert "`amdkernel worker --token-file FILE`" in " ".join(shown.split())
    database = open_access(load_settings())
    assert TokenStore(database).find(token) is not None
    database.dispose()
    assert "exists already" in answer(capsys, *words, code=2)["error"]["message"]
    assert len(answer(capsys, "tokens", "list")["tokens"]) == 1
    other = tmp_path / "other.token"
    answer(capsys, "tokens", "add", "gpu7", "--scope", "root", "--to", str(other), code=2)
    assert not other.exists()


def test_the_help_of_add_has_every_scope(capsys: pytest.CaptureFixture[str]) -> None:
    run(["admin", "tokens", "add", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert ", ".join(SCOPES) in shown


def test_a_user_named_instead_of_a_token_gets_the_ids_of_that_users_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    ids = [answer(capsys, "tokens", "add", "bob")["added"]["id"] for _ in range(2)]
    answer(capsys, "tokens", "revoke", answer(capsys, "tokens", "add", "bob")["added"]["id"])
    error = answer(capsys, "tokens", "revoke", "bob", code=2)["error"]
    assert error["hint"] in (f"the valid tokens of bob: {', '.join(each)}" for each in (ids, ids[::-1]))


def test_a_token_has_all_scopes_but_admin_unless_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "tokens", "add", "ann")["added"]["scopes"] == ["docs", "compile", "check", "gpu:time"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["add", "ann", "--scope", "root"], "there is no scope 'root'"),
        (["add", "oidc:ann"], "cannot be the name"),
        (["add", "a\x1b[31mb"], "cannot be the name"),
        (["add", "ann", "--days", "-1"], "more than 0"),
        (["revoke", "../ann"], "there is no token"),
    ],
    ids=str,
)
def test_wrong_input_is_refused_in_one_line(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    assert message in answer(capsys, "tokens", *words, code=2)["error"]["message"]


def test_users_of_the_database_and_of_the_file_are_listed_together(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "tokens"
    file.touch(0o600)
    file.write_text(f"{FILE_TOKEN} ann\n")
    monkeypatch.setenv("AMDKERNEL_TOKENS_FILE", str(file))
    answer(capsys, "tokens", "add", "ann", "--scope", "admin")
    answer(capsys, "tokens", "add", "<b>bob</b>", "--scope", "docs")
    users = answer(capsys, "users")["users"]
    assert [(each["name"], each["scopes"], each["in_tokens_file"]) for each in users] == [
        ("<b>bob</b>", ["docs"], False),
        ("ann", ["docs", "compile", "check", "gpu:time", "admin"], True),
    ]
    assert run(["admin", "users"]) == 0
    shown = capsys.readouterr().out
    assert "<b>bob</b>" in shown
    assert FILE_TOKEN not in shown


def test_the_audit_log_is_listed_by_user_and_shows_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    event = Event(
        at=0.0, user="eve", token=None, address="192.0.2.1", action="x\x1b[2J\nforged", target="local:0", job=None,
        attempt=None, outcome="refused", reason="no scope",
    )  # fmt: skip
    database = open_access(load_settings())
    AuditLog(database, keep_days=36500).write(event)
    database.dispose()
    (line,) = answer(capsys, "audit", "--user", "eve")["lines"]
    assert (line["outcome"], line["at"]) == ("refused", "1970-01-01T00:00:00Z")
    assert not answer(capsys, "audit", "--user", "ann")["lines"]
    assert run(["admin", "audit"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\nforged" not in shown


def test_a_quarantined_gpu_is_listed_and_released_and_the_audit_log_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    database = open_access(load_settings())
    health = GpuHealth(lambda: database)
    health.saw("1a2b", "gpu1:0", "nothing can be read")
    health.quarantine("3c4d", "gpu1:1", "nothing can be read", "9000 MiB are left\x1b[2J")
    database.dispose()
    listed = answer(capsys, "gpus", "list")["gpus"]
    assert [(each["id"], each["target"], each["state"]) for each in listed] == [
        ("1a2b", "gpu1:0", "usable"),
        ("3c4d", "gpu1:1", "quarantined"),
    ]
    assert listed[1]["since"].startswith("20")
    assert run(["admin", "gpus"]) == 0
    shown = capsys.readouterr().out
    assert "gpu1:1: quarantined since" in shown
    assert "9000 MiB are left" in shown
    assert "\x1b" not in shown
    assert answer(capsys, "gpus", "release", "3c4d")["gpus"][0]["state"] == "usable"
    assert "not quarantined" in answer(capsys, "gpus", "release", "3c4d", code=2)["error"]["message"]
    assert "no GPU has the id" in answer(capsys, "gpus", "release", "5e6f", code=2)["error"]["message"]
    (line,) = answer(capsys, "audit")["lines"]
    assert (line["action"], line["target"], line["outcome"]) == ("admin gpus release", "gpu1:1", "done")
    assert line["user"].startswith("shell:")


def test_a_backup_and_a_restore_name_their_files_and_are_in_the_audit_log(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = str(tmp_path / "backup")
    answer(capsys, "tokens", "add", "ann")
    made = answer(capsys, "backup", file)
    assert (made["file"], made["bytes"] > 0) == (file, True)
    answer(capsys, "tokens", "add", "bob")
    assert answer(capsys, "restore", file)["kept"].startswith(str(tmp_path / "data" / "history.sqlite3.before-"))
    assert [user["name"] for user in answer(capsys, "users")["users"]] == ["ann"]
    assert [line["action"] for line in answer(capsys, "audit")["lines"]] == ["admin restore"]
    assert "is there already" in answer(capsys, "backup", file, code=2)["error"]["message"]
