"""The references are up to date, and the pages of the clients show what `amdkernel install` writes."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from amdkernel_mcp.cli.clients import CLIENTS, Team, entry_for

ROOT = Path(__file__).resolve().parent.parent
URL = "https://mcp.example.com/mcp"


def test_the_references_are_what_the_code_says_now() -> None:
    ended = subprocess.run(
        [sys.executable, str(ROOT / "scripts/generate_docs.py"), "--check"], capture_output=True, text=True
    )
    assert ended.returncode == 0, f"run `make docs`: {ended.stderr}"


def blocks(client: str, language: str) -> list[str]:
    page = (ROOT / "docs/clients" / f"{client}.md").read_text(encoding="utf-8")
    return [part.split("```")[0] for part in page.split(f"```{language}\n")[1:]]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_clients_page_shows_the_configuration_that_install_writes(client: str) -> None:
    local = entry_for(client, command="amdkernel-mcp")
    servers = [Team(URL)] if client == "claude-desktop" else [Team(URL), Team(URL, direct=True)]
    teams = [entry_for(client, command="amdkernel-mcp", team=team) for team in servers]
    table = CLIENTS[client].table
    read = tomllib.loads if client == "codex" else json.loads
    shown = [read(block)[table] for block in blocks(client, "toml" if client == "codex" else "json")]
    assert shown == [{"amdkernel": local}, *({"amdkernel-team": team} for team in teams)]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_clients_page_names_its_file_and_the_command(client: str) -> None:
    page = (ROOT / "docs/clients" / f"{client}.md").read_text(encoding="utf-8")
    assert f"amdkernel install {client}" in page
    files = CLIENTS[client]
    for file in (files.user_file, files.project_file):
        assert file is None or file in page, file
