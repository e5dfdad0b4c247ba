"""`amdkernel install`: our entry appears, no other changes, and a file that we cannot read stays as it is."""

import json
import subprocess
import tomllib
from pathlib import Path

import pytest

from amdkernel_mcp.cli import jsonc
from amdkernel_mcp.cli.clients import CLIENTS, TOKEN_VARIABLE, Team, configure, server_command
from amdkernel_mcp.cli.main import run
from amdkernel_mcp.errors import InputError

OTHER = {"command": "other", "args": ["--x"], "env": {"A": "ä"}}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def folder_of(client: str, home: Path) -> Path | None:
    """The project's folder, or None for a client that keeps no servers in projects."""
    return home if CLIENTS[client].project_file else None


URL = "https://mcp.example.com/mcp"
TEAMS = [None, Team(URL), Team(URL, token_file="/home/ann/token"), Team(URL, direct=True)]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("team", TEAMS, ids=["local", "variable", "file", "direct"])
def test_an_entry_is_made_once_and_changes_nothing_the_second_time(client: str, team: Team | None, home: Path) -> None:
    if client == "claude-desktop" and team and team.direct:
        with pytest.raises(InputError, match="Connectors"):
            configure(client, folder=None, team=team)
        return
    folder = folder_of(client, home)
    change = configure(client, folder=folder, team=team)
    assert change.write() == "created"
    text = change.file.read_text()
    again = configure(client, folder=folder, team=team)
    assert again.write() == "unchanged"
    assert again.file.read_text() == text
    assert change.snippet.strip()
    assert "amdkernel" in text
    assert (URL in text) == (team is not None)
    assert ("--token-file" in text) == (team is not None and team.token_file is not None)
    if team and team.direct:
        assert TOKEN_VARIABLE in text, "a token's name, and never a token"


@pytest.mark.parametrize(
    "arguments",
    [["--direct"], ["--token-file", "x"], ["--url", "x"], ["--url", URL, "--direct", "--token-file", "x"]],
)
def test_wrong_options_of_a_teams_server_write_nothing(arguments: list[str], home: Path) -> None:
    assert run(["install", "cursor", *arguments]) == 2
    assert list(home.iterdir()) == []


def test_on_windows_the_command_is_the_program_beside_pythons(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setattr("sys.executable", str(home / "python.exe"))
    monkeypatch.setattr("shutil.which", lambda _: None)  # what it does on Windows needs Windows
    (home / "amdkernel-mcp.exe").touch()
    assert server_command(shared=False) == str(home / "amdkernel-mcp.exe")


def test_the_command_of_a_teams_server_that_is_entered_runs(home: Path) -> None:
    token = home / "token"
    assert run(["install", "cursor", "--url", "http://127.0.0.1:9", "--token-file", "token"]) == 0
    entry = json.loads((home / ".cursor/mcp.json").read_text())["mcpServers"]["amdkernel-team"]
    assert entry["args"] == ["--url", "http://127.0.0.1:9/mcp", "--token-file", str(token)]
    ended = subprocess.run([entry["command"], *entry["args"]], input="", capture_output=True, text=True, check=True)
    assert ended.stdout == ""


@pytest.mark.parametrize("client", [name for name in CLIENTS if name != "codex"])
def test_other_entries_comments_and_keys_of_a_json_file_stay(client: str, home: Path) -> None:
    known, folder = CLIENTS[client], folder_of(client, home)
    file = home / known.project_file if known.project_file else Path(known.user_file).expanduser()
    file.parent.mkdir(parents=True, exist_ok=True)
    entries = json.dumps({"other": OTHER, "amdkernel": {"command": "old"}}, ensure_ascii=False)
    before = f'{{\n  // mine, "{known.table}"\n  "theme": "dark", /* x */\n  "{known.table}": {entries},\n}}\n'
    file.write_text(before)
    file.chmod(0o600)
    assert configure(client, folder=folder).write() == "updated"
    document = jsonc.parse(file.read_text())
    assert document["theme"] == "dark"
    assert document[known.table]["other"] == OTHER
    assert document[known.table]["amdkernel"] != {"command": "old"}
    assert file.stat().st_mode & 0o777 == 0o600
    assert configure(client, folder=folder, remove=True).write() == "updated"
    assert file.read_text() == before.replace(', "amdkernel": {"command": "old"}', "")
    assert configure(client, folder=folder, remove=True).write() == "unchanged"


def test_only_our_table_of_a_codex_file_is_removed(home: Path) -> None:
    file = home / ".codex/config.toml"
    file.parent.mkdir()
    file.write_text(CODEX)
    assert run(["install", "codex", "--remove"]) == 0
    assert file.read_text() == CODEX.replace('[mcp_servers.amdkernel]\ncommand = "old"\n', "")
    assert run(["install", "codex", "--remove", "--print"]) == 2


def test_what_was_added_to_nothing_can_be_removed_again() -> None:
    for client in CLIENTS:
        assert run(["install", client]) == 0
        assert run(["install", client, "--remove"]) == 0
        text = Path(CLIENTS[client].user_file).expanduser().read_text()
        assert "amdkernel" not in text, client


CODEX = """\
# my settings
model = "gpt-5"   # the one I like

[mcp_servers.amdkernel]
command = "old"

# about the other one
[mcp_servers.other]
command = "other"

[profiles.fast]
model = "x"
"""


def test_only_our_table_of_a_codex_file_changes(home: Path) -> None:
    file = home / ".codex/config.toml"
    file.parent.mkdir()
    file.write_text(CODEX)
    assert configure("codex", folder=None).write() == "updated"
    text = file.read_text()
    kept = CODEX.replace('[mcp_servers.amdkernel]\ncommand = "old"\n', "")
    for line in filter(None, kept.splitlines()):
        assert line in text.splitlines(), f"{line!r} was lost"
    entry = tomllib.loads(text)["mcp_servers"]["amdkernel"]
    assert entry["command"].endswith("amdkernel-mcp")
    assert entry["required"] is True, "Codex otherwise starts a turn without a server that takes longer than a second"


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("vscode", '{\n  "servers": {},,\n}'),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", "[]"),
        ("codex", "model = "),
        ("codex", 'mcp_servers = {amdkernel = {command = "old"}}\n'),
        ("codex", '[mcp_servers.amdkernel]\ncommand = "a"\n[mcp_servers.amdkernel.env]\nX = "1"\n'),
    ],
)
def test_a_file_that_cannot_be_changed_safely_stays_as_it_is(client: str, text: str, home: Path) -> None:
    project_file = CLIENTS[client].project_file
    assert project_file
    file = home / project_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    with pytest.raises(InputError, match="stays as it is"):
        configure(client, folder=home)
    assert file.read_text() == text


def test_a_linked_configuration_stays_a_link(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text("{}")
    link = home / ".cursor/mcp.json"
    link.parent.mkdir()
    link.symlink_to(real)
    configure("cursor", folder=None).write()
    assert link.is_symlink()
    assert "amdkernel" in json.loads(real.read_text())["mcpServers"]


def test_print_changes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["install", "cursor", "--print"]) == 0
    assert "amdkernel" in json.loads(capsys.readouterr().out)["mcpServers"]
    assert list(home.iterdir()) == []


def test_vs_code_takes_the_user_and_the_project_as_the_readme_says(home: Path) -> None:
    assert run(["install", "vscode"]) == 0
    assert run(["install", "vscode", "--project"]) == 0
    for file in (CLIENTS["vscode"].user_file, CLIENTS["vscode"].project_file):
        assert "amdkernel" in json.loads((home / str(file).removeprefix("~/")).read_text())["servers"]


def test_a_client_without_project_files_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["install", "windsurf", "--project"]) == 2
    assert "amdkernel install windsurf" in capsys.readouterr().err


def test_the_command_that_is_entered_runs() -> None:
    ended = subprocess.run([server_command(shared=False), "--version"], capture_output=True, text=True, check=True)
    assert ended.stdout.startswith("amdkernel-mcp ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "in the environment variable AMDK_TOKEN where zed starts"),
        (["--token-file", "token"], "/token, which is not there yet"),
    ],
    ids=["variable", "file"],
)
def test_it_says_where_the_token_must_be(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["install", "zed", "--url", URL, "--print", *options]) == 0
    assert said in capsys.readouterr().err
