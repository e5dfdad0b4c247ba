"""The server's answers to a client's opening requests, recorded in the package so that the client gets them at once.

Clients open a connection in one of two eras of the protocol. In the handshake era they send `initialize` first; since
version 2026-07-28 they send no handshake, but an envelope (`params._meta`) with each request, and may ask
`server/discover`. Regenerate handshake.json with `python -m amdkernel_mcp.stdio.handshake`; a test compares it with the
server's answers. Only light imports here: `amdkernel-mcp` reads it before it answers its client.
"""

import json
from pathlib import Path
from typing import Any, Literal

from amdkernel_mcp import __version__
from amdkernel_mcp.remote.envelope import CAPABILITIES_KEY, ENVELOPE_VERSION, VERSION_KEY

FILE = Path(__file__).with_name("handshake.json")

Era = Literal["handshake", "envelope"]

# Versions whose clients start with `initialize`.
PROTOCOL_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
# Claude Code asks all of these before its first turn, and leaves a server out whose answers take a few seconds.
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
_UNSUPPORTED_VERSION, _INVALID_PARAMS = -32022, -32602


def era_of(request: dict[str, Any]) -> Era:
    """The era that the server serves when `request` is the first that it receives."""
    return "envelope" if request.get("method") != "initialize" and VERSION_KEY in _meta(request) else "handshake"


class Handshake:
    """Answers to the requests with which a client opens a connection."""

    def __init__(self, answers: dict[str, Any]) -> None:
        shared: dict[str, Any] = answers.get("handshake", {})
        more: dict[str, dict[str, Any]] = answers.get("envelope", {})
        self._answers: dict[Era, dict[str, Any]] = {
            "handshake": shared,
            "envelope": {method: shared.get(method, {}) | result for method, result in more.items()},
        }

    def without_tools(self) -> "Handshake":
        """As this, but only the server can list its tools: its settings leave some out."""
        kept = Handshake({})
        kept._answers = {
            era: {method: result for method, result in answers.items() if method != "tools/list"}
            for era, answers in self._answers.items()
        }
        return kept

    def answer(self, request: dict[str, Any], era: Era | None) -> dict[str, Any] | None:
        """The member `result` or `error` that answers `request`, or None when only the server can answer.

        `era` is the era that the server has been bound to by an earlier request, None before the first. A request of
        the other era is refused by the server, in its own words.
        """
        asked = era_of(request)
        if era not in (None, asked):
            return None
        method = str(request.get("method"))
        if asked == "envelope":
            return self._answer_envelope(method, request)
        if method == "initialize" and "initialize" in self._answers["handshake"]:
            version = _params(request).get("protocolVersion")
            known = version if version in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[0]
            return {"result": {**self._answers["handshake"]["initialize"], "protocolVersion": known}}
        return self._listed("handshake", method, request)

    def _answer_envelope(self, method: str, request: dict[str, Any]) -> dict[str, Any] | None:
        discovered = self._answers["envelope"].get("server/discover")
        if not discovered or method not in ("server/discover", *LISTS):
            return None
        if refused := refusal(request, discovered["supportedVersions"]):
            return {"error": refused}
        return {"result": discovered} if method == "server/discover" else self._listed("envelope", method, request)

    def _listed(self, era: Era, method: str, request: dict[str, Any]) -> dict[str, Any] | None:
        found = self._answers[era].get(method) if method in LISTS and "cursor" not in _params(request) else None
        return None if found is None else {"result": found}


def refusal(request: dict[str, Any], supported: list[str]) -> dict[str, Any] | None:
    """The error for a request with an envelope that is not valid, None for a valid one.

    The server would refuse it too, and then also the `initialize` to which the client falls back.
    """
    meta = _meta(request)
    asked = meta[VERSION_KEY]
    if not isinstance(asked, str):
        return {"code": _INVALID_PARAMS, "message": f"`{VERSION_KEY}` must be a string"}
    if asked not in supported:
        data = {"supported": supported, "requested": asked}
        return {"code": _UNSUPPORTED_VERSION, "message": "Unsupported protocol version", "data": data}
    if not isinstance(meta.get(CAPABILITIES_KEY), dict):
        return {"code": _INVALID_PARAMS, "message": f"`{CAPABILITIES_KEY}` is required and must be an object"}
    return None


def _params(request: dict[str, Any]) -> dict[str, Any]:
    params = request.get("params")
    return params if isinstance(params, dict) else {}


def _meta(request: dict[str, Any]) -> dict[str, Any]:
    meta = _params(request).get("_meta")
    return meta if isinstance(meta, dict) else {}


def read(file: Path = FILE) -> Handshake | None:
    """The recorded answers, or None when there are none of exactly this version of the package."""
    try:
        answers = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    return Handshake(answers) if answers.get("version") == __version__ else None


def record() -> str:
    """What the file must hold: the answers of a server started now, as JSON text.

    `envelope` holds only what its lists have beyond those of `handshake`: the tools are the same.
    """
    client = {"name": "amdkernel-handshake", "version": __version__}
    opening = {"protocolVersion": PROTOCOL_VERSIONS[0], "capabilities": {}, "clientInfo": client}
    envelope = {"_meta": {VERSION_KEY: ENVELOPE_VERSION, CAPABILITIES_KEY: {}}}
    shared = _ask([("initialize", opening), ("notifications/initialized", None), *((method, {}) for method in LISTS)])
    full = _ask([(method, envelope) for method in ("server/discover", *LISTS)])
    more = {
        method: {key: value for key, value in result.items() if shared.get(method, {}).get(key) != value}
        for method, result in full.items()
    }
    answers = {"version": __version__, "handshake": shared, "envelope": more}
    return json.dumps(answers, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _ask(messages: list[tuple[str, dict[str, Any] | None]]) -> dict[str, Any]:
    """Results by method of a server that is started for them. A message without params is a notification."""
    import os
    import subprocess
    import sys

    command = [sys.executable, "-P", "-m", "amdkernel_mcp.stdio.main", "--no-relay"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AMDKERNEL_", "FASTMCP_"))}
    environment["AMDKERNEL_CONFIG"] = os.devnull
    results: dict[str, Any] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for number, (method, params) in enumerate(messages):
            message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
            if params is not None:
                message |= {"id": number, "params": params}
            server.stdin.write(json.dumps(message).encode() + b"\n")
            server.stdin.flush()
            if params is not None:
                results[method] = json.loads(server.stdout.readline())["result"]
        server.stdin.close()
    return results


if __name__ == "__main__":
    FILE.write_text(record(), encoding="utf-8")
