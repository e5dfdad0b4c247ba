"""The configuration files of MCP clients: which file, which entry, and how to add ours without changing others."""

import base64
import json
import os
import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from amdkernel_mcp.cli import jsonc
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.server.address import TOKEN_VARIABLE, checked_url

NAME = "amdkernel"
TEAM_NAME = "amdkernel-team"

_DESKTOP = "~/Library/Application Support" if sys.platform == "darwin" else os.environ.get("APPDATA", "~/.config")
_ZED = f"{_DESKTOP}/Zed" if sys.platform == "win32" else "~/.config/zed"


@dataclass(frozen=True)
class Client:
    """Where a client keeps its MCP servers: the file for the user and for a project, and the table inside."""

    user_file: str
    project_file: str | None
    table: str


CLIENTS = {
    "cursor": Client("~/.cursor/mcp.json", ".cursor/mcp.json", "mcpServers"),
    "claude-code": Client("~/.claude.json", ".mcp.json", "mcpServers"),
    "codex": Client("~/.codex/config.toml", ".codex/config.toml", "mcp_servers"),
    "vscode": Client(f"{_DESKTOP}/Code/User/mcp.json", ".vscode/mcp.json", "servers"),
    "gemini": Client("~/.gemini/settings.json", ".gemini/settings.json", "mcpServers"),
    "opencode": Client("~/.config/opencode/opencode.json", "opencode.json", "mcp"),
    "zed": Client(f"{_ZED}/settings.json", ".zed/settings.json", "context_servers"),
    "windsurf": Client("~/.codeium/windsurf/mcp_config.json", None, "mcpServers"),
    "claude-desktop": Client(f"{_DESKTOP}/Claude/claude_desktop_config.json", None, "mcpServers"),
}


@dataclass(frozen=True)
class Team:
    """A team's server. `direct`: the client itself connects to it, and no file of this machine can be named."""

    url: str
    token_file: str | None = None
    direct: bool = False


@dataclass(frozen=True)
class Change:
    """One entry for one file, not yet written."""

    file: Path
    snippet: str
    text: str | None  # the new text of the file; None: the entry is there already

    def write(self) -> str:
        """`updated`, `created` or `unchanged`. The file is replaced in one step and keeps its mode."""
        if self.text is None:
            return "unchanged"
        existed = self.file.exists()
        self.file.parent.mkdir(parents=True, exist_ok=True)
        target = self.file.resolve()  # a linked configuration stays a link
        fresh = target.with_name(f".{target.name}.amdkernel")
        try:
            fresh.write_text(self.text, encoding="utf-8")
            if existed:
                shutil.copymode(target, fresh)
            fresh.replace(target)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise InputError(f"the configuration cannot be written: {error.strerror}", file=str(self.file)) from None
        return "updated" if existed else "created"


def configure(client: str, *, folder: Path | None, team: Team | None = None, remove: bool = False) -> Change:
    """What to change so that `client` has our server: in `folder`, or for the user. `remove`: so that it has not.

    Raises InputError for an unknown client, for a URL that is none, and for a file that is not what the client writes;
    the file is not changed.
    """
    known = CLIENTS.get(client)
    if known is None:
        raise InputError(f"unknown client {client!r}", hint=f"known are {', '.join(CLIENTS)}")
    if folder is not None and known.project_file is None:
        raise InputError(f"{client} keeps no servers in a project", hint=f"amdkernel install {client}")
    file = folder / (known.project_file or "") if folder else Path(known.user_file).expanduser()
    if team and team.direct and client == "claude-desktop":
        raise InputError(
            "Claude Desktop takes a server at a URL only in its own settings, under Connectors",
            hint="without --direct it starts amdkernel-mcp, which connects to the URL",
        )
    name = TEAM_NAME if team else NAME
    entry = None if remove else entry_for(client, command=server_command(shared=folder is not None), team=team)
    present = _read(file)
    if client == "codex":
        return _change_toml(file, present, name, entry)
    return _change_json(file, present, known.table, name, entry)


def install_link(client: str) -> str | None:
    """A link that adds the server of this machine when it is opened; None for a client that has none."""
    entry = entry_for(client, command="amdkernel-mcp")
    text = json.dumps(entry, separators=(",", ":"))
    if client == "cursor":
        return f"https://cursor.com/en/install-mcp?name={NAME}&config={quote(base64.b64encode(text.encode()).decode())}"
    if client == "vscode":
        return f"https://insiders.vscode.dev/redirect/mcp/install?name={NAME}&config={quote(text)}"
    return None


def server_command(*, shared: bool) -> str:
    """How to start the server: by name in a file that others share and PATH finds it, else by its full path.

    An editor started from a desktop has another PATH than a terminal, so a user's own file gets the path.
    """
    ours = Path(sys.executable).with_name("amdkernel-mcp.exe" if sys.platform == "win32" else "amdkernel-mcp")
    found = shutil.which("amdkernel-mcp")
    if not ours.exists():
        return found or "amdkernel-mcp"
    return "amdkernel-mcp" if shared and found and Path(found).resolve() == ours.resolve() else str(ours)


# Clients that start a server without all of the user's environment, and how they are asked for one variable.
_TOKEN_ENTRIES: dict[str, dict[str, Any]] = {
    "codex": {"env_vars": [TOKEN_VARIABLE]},
    "cursor": {"env": {TOKEN_VARIABLE: f"${{env:{TOKEN_VARIABLE}}}"}},
    "gemini": {"env": {TOKEN_VARIABLE: f"${TOKEN_VARIABLE}"}},
    "windsurf": {"env": {TOKEN_VARIABLE: f"${{env:{TOKEN_VARIABLE}}}"}},
}


def entry_for(client: str, *, command: str, team: Team | None = None) -> dict[str, Any]:
    """The entry in this client's format; with `team` for that server. It never contains a token."""
    if team is None:
        return _command_entry(client, command, [])
    url = checked_url(team.url)
    if team.direct:
        return _direct_entry(client, url)
    if team.token_file:
        return _command_entry(client, command, ["--url", url, "--token-file", team.token_file])
    return _command_entry(client, command, ["--url", url]) | _TOKEN_ENTRIES.get(client, {})


def _command_entry(client: str, command: str, arguments: list[str]) -> dict[str, Any]:
    match client:
        case "claude-code":  # alwaysLoad: the tools are in the prompt instead of behind a search
            return {"type": "stdio", "command": command, "args": arguments, "alwaysLoad": True}
        case "codex":  # required: Codex otherwise starts a turn without a server that takes longer than a second
            given = {"args": arguments} if arguments else {}
            return {"command": command, **given, "required": True, "startup_timeout_sec": 30, "tool_timeout_sec": 600}
        case "vscode":
            return {"type": "stdio", "command": command, "args": arguments}
        case "opencode":
            return {"type": "local", "command": [command, *arguments], "enabled": True}
        case "gemini":
            return {"command": command, "args": arguments, "timeout": 600_000}
        case _:
            return {"command": command, "args": arguments}


def _direct_entry(client: str, url: str) -> dict[str, Any]:
    def header(variable: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {variable}"}

    match client:
        case "claude-code":
            return {"type": "http", "url": url, "headers": header(f"${{{TOKEN_VARIABLE}}}"), "alwaysLoad": True}
        case "codex":
            return {"url": url, "bearer_token_env_var": TOKEN_VARIABLE, "required": True, "tool_timeout_sec": 600}
        case "vscode":
            return {"type": "http", "url": url, "headers": header(f"${{env:{TOKEN_VARIABLE}}}")}
        case "opencode":
            return {"type": "remote", "url": url, "headers": header(f"{{env:{TOKEN_VARIABLE}}}"), "enabled": True}
        case "windsurf":
            return {"serverUrl": url, "headers": header(f"${{env:{TOKEN_VARIABLE}}}")}
        case "gemini":
            return {"httpUrl": url, "headers": header(f"${TOKEN_VARIABLE}"), "timeout": 600_000}
        case _:
            return {"url": url, "headers": header(f"${{env:{TOKEN_VARIABLE}}}")}


def _read(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the configuration cannot be read: {getattr(error, 'strerror', error)}", file=str(file)
        ) from None


def _change_json(file: Path, present: str | None, table: str, name: str, entry: dict[str, Any] | None) -> Change:
    """The file's text with our entry; `entry` None: without it. Comments and all else stay as they are."""
    snippet = json.dumps({table: {name: entry}}, indent=2)
    text = present or ""
    try:
        document = jsonc.parse(text)
    except ValueError as error:
        raise InputError(
            "the configuration is not JSON, and it stays as it is",
            file=str(file),
            line=getattr(error, "lineno", None),
            hint="add by hand what `amdkernel install ... --print` prints",
        ) from None
    servers = document.get(table, {}) if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        raise InputError(f"{table!r} is not an object there, and the file stays as it is", file=str(file))
    if servers.get(name) == entry:
        return Change(file, snippet, None)
    if entry is None:
        return Change(file, snippet, jsonc.remove(text, table, name))
    return Change(file, snippet, jsonc.put(text, table, name, entry))


def _change_toml(file: Path, present: str | None, name: str, entry: dict[str, Any] | None) -> Change:
    """The file's text with our table replaced, appended or, with `entry` None, removed; other lines stay."""
    rows = [f"{key} = {_toml(value)}" for key, value in (entry or {}).items()]
    snippet = "" if entry is None else "\n".join([f"[mcp_servers.{name}]", *rows]) + "\n"
    present = present or ""
    before = _parse_toml(present, file)
    if before.get("mcp_servers", {}).get(name) == entry:
        return Change(file, snippet, None)
    lines = present.splitlines(keepends=True)
    start = next((i for i, line in enumerate(lines) if _header(line) == f"mcp_servers.{name}"), None)
    if start is None:
        gap = "" if not present or present.endswith("\n\n") else "\n" if present.endswith("\n") else "\n\n"
        text = present + gap + snippet
    else:
        end = next((i for i in range(start + 1, len(lines)) if _header(lines[i])), len(lines))
        while lines[end - 1].lstrip().startswith("#") or not lines[end - 1].strip():
            end -= 1  # a comment or a gap before the next table belongs to that
        text = "".join(lines[:start]) + snippet + "".join(lines[end:])
    servers = {key: value for key, value in before.get("mcp_servers", {}).items() if key != name}
    servers |= {} if entry is None else {name: entry}
    after = _parse_toml(text, file)
    if {**after, "mcp_servers": after.get("mcp_servers", {})} != {**before, "mcp_servers": servers}:
        # for instance an inline table, or a sub-table of ours
        raise InputError(
            f"mcp_servers.{name} is written in a way this command does not change; the file stays as it is",
            file=str(file),
            hint="amdkernel install codex --print",
        )
    return Change(file, snippet, text)


def _header(line: str) -> str:
    stripped = line.split("#")[0].strip()
    return stripped.strip("[]").replace('"', "").replace(" ", "") if stripped.startswith("[") else ""


def _toml(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)  # strings, numbers, booleans and lists are the same in TOML


def _parse_toml(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{error}; the file stays as it is", file=str(file)) from None
