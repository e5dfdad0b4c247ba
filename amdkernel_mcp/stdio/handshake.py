"""The server's answers to a client's opening requests, kept in the package so that the client gets them at once.

Regenerate the file with `python -m amdkernel_mcp.stdio.handshake`; a test compares it with what the server says.
Only light imports here: `amdkernel-mcp` reads it before it has told its client anything.
"""

import json
from pathlib import Path
from typing import Any

from amdkernel_mcp import __version__

FILE = Path(__file__).with_name("handshake.json")

# Protocol versions whose clients start with `initialize`; newer ones ask `server/discover`, the server's own affair.
PROTOCOL_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
# Claude Code asks all of these before its first turn, and leaves a server out whose answers take a few seconds.
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
_MODERN_KEY = "io.modelcontextprotocol/protocolVersion"


class Handshake:
    """Answers to the requests with which a client opens a session."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self._initialize: dict[str, Any] = answers["initialize"]
        self._lists: dict[str, dict[str, Any]] = {method: answers[method] for method in LISTS if method in answers}

    def answer(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The result for `request`, or None when only the server can tell."""
        method, params = str(request.get("method")), request.get("params") or {}
        if method == "initialize":
            version = params.get("protocolVersion")
            known = version if version in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[0]
            return {**self._initialize, "protocolVersion": known}
        if "cursor" in params or _MODERN_KEY in (params.get("_meta") or {}):
            return None
        return self._lists.get(method)


def read(file: Path = FILE) -> Handshake | None:
    """The kept answers, or None when there are none of exactly this version of the package."""
    try:
        answers = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    return Handshake(answers) if answers.get("version") == __version__ else None


def record() -> str:
    """What the file must hold: the answers of a server started now, as JSON text."""
    import os
    import subprocess
    import sys

    command = [sys.executable, "-P", "-m", "amdkernel_mcp.stdio.main", "--no-shim"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AMDKERNEL_", "FASTMCP_"))}
    environment["AMDKERNEL_CONFIG"] = os.devnull
    client = {"name": "amdkernel-handshake", "version": __version__}
    opening = {"protocolVersion": PROTOCOL_VERSIONS[0], "capabilities": {}, "clientInfo": client}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
        *({"id": number, "method": method, "params": {}} for number, method in enumerate(LISTS, 2)),
    ]
    answers: dict[str, Any] = {"version": __version__}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            server.stdin.flush()
            if "id" in message:
                answers[message["method"]] = json.loads(server.stdout.readline())["result"]
        server.stdin.close()
    return json.dumps(answers, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(record(), encoding="utf-8")
