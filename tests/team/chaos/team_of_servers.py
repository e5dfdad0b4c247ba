"""Servers that share a database, as agents meet them over HTTP; and what may happen to them."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import httpx
from sqlalchemy import Engine, text

from amdkernel_mcp.database.open_database import open_database
from amdkernel_mcp.database.schema import bring_up_to_date
from tests.server.http_server import free_port

PROGRAM = Path(__file__).with_name("team_server.py")
ROOT = Path(__file__).parents[3]
OPENING = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "chaos", "version": "0"}}
USERS = 20


class NotAnsweredError(Exception):
    """The server did not answer, or not with a result."""


@dataclass
class TeamServer:
    """One server, started again after each kill."""

    name: str
    environment: dict[str, str]
    notes: Path
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None
    program: Path = PROGRAM
    options: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self) -> None:
        with (self.notes / f"log of {self.name}").open("ab") as log:
            command = [sys.executable, str(self.program), str(self.port), str(self.notes), *self.options]
            self.process = subprocess.Popen(command, env=self.environment, stderr=log, stdout=log, cwd=ROOT)

    def send(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


class Served(Protocol):
    """Where a server listens."""

    @property
    def url(self) -> str: ...


class Agent:
    """A user's client: one request at a time, to any of the servers."""

    def __init__(self, user: int) -> None:
        self._headers = {
            "accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {token_of(user)}",
        }
        self._http = httpx.Client(timeout=10)
        self._sessions: dict[str, str] = {}

    def call(self, server: Served, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a tool. Raises NotAnsweredError."""
        message = {"id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        try:
            answer = self._post(server, message)
        except (httpx.HTTPError, ValueError) as error:
            self._sessions.pop(server.url, None)
            raise NotAnsweredError(repr(error)) from None
        result = answer.get("result", {})
        if result.get("isError") or "structuredContent" not in result:
            self._sessions.pop(server.url, None)
            raise NotAnsweredError(str(answer)[:400])
        found: dict[str, Any] = result["structuredContent"]
        return found

    def close(self) -> None:
        self._http.close()

    def _post(self, server: Served, message: dict[str, Any]) -> dict[str, Any]:
        if server.url not in self._sessions:
            opened = self._send(server, {"id": 1, "method": "initialize", "params": OPENING})
            self._sessions[server.url] = opened.headers["mcp-session-id"]
        return _json(self._send(server, message))

    def _send(self, server: Served, message: dict[str, Any]) -> httpx.Response:
        session = self._sessions.get(server.url)
        headers = self._headers | ({"mcp-session-id": session} if session else {})
        answer = self._http.post(server.url, json={"jsonrpc": "2.0"} | message, headers=headers)
        answer.raise_for_status()
        return answer


def _json(answer: httpx.Response) -> dict[str, Any]:
    """The message, which may be the last event of a stream."""
    import json

    lines = [line[5:] for line in answer.text.splitlines() if line.startswith("data:") and len(line) > 6]
    found: dict[str, Any] = json.loads(lines[-1] if lines else answer.text)
    return found


def token_of(user: int) -> str:
    return f"token-of-user-{user:04d}-0123456789"


@contextmanager
def servers(folder: Path, notes: Path, database: str | None, count: int) -> Iterator[list[TeamServer]]:
    """Start `count` servers on one database; they end at the end."""
    notes.mkdir(parents=True)
    tokens = notes / "tokens"
    tokens.write_text("".join(f"{token_of(user)} user{user}\n" for user in range(USERS)))
    tokens.chmod(0o600)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AMDKERNEL_")} | {
        "AMDKERNEL_DATA_DIR": str(folder),
        "AMDKERNEL_CACHE_DIR": str(notes / "cache"),
        "AMDKERNEL_TOKENS_FILE": str(tokens),
        "AMDKERNEL_USER_QUEUED_JOBS": "10000",
        "AMDKERNEL_ISOLATION": "none",
        **({"AMDKERNEL_DATABASE": database} if database else {}),
    }
    made = [TeamServer(str(number), environment, notes) for number in range(count)]
    for each in made:
        each.start()
    try:
        yield made
    finally:
        for each in made:
            each.send(signal.SIGCONT)
            each.kill()


class Clock:
    """The clock of the database, as the servers read it."""

    def __init__(self, folder: Path, database: str | None) -> None:
        self.engine: Engine = open_database(database, folder / "history.sqlite3")
        bring_up_to_date(self.engine)
        with self.engine.begin() as connection:
            connection.execute(text("create table chaos_clock (seconds float not null)"))
            connection.execute(text("insert into chaos_clock values (0)"))

    def jump(self, seconds: float) -> None:
        with self.engine.begin() as connection:
            connection.execute(text("update chaos_clock set seconds = seconds + :by"), {"by": seconds})


@dataclass
class Asked:
    """What the agents were promised, and the answers that they saw. Thread-safe."""

    promised: dict[str, int] = field(default_factory=dict)  # by job: the user
    seen: dict[str, set[str]] = field(default_factory=dict)  # by job: each answer
    refused: dict[str, int] = field(default_factory=dict)  # why, and how often
    at_once: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def saw(self, job: str, answer: dict[str, Any]) -> None:
        if answer["status"] in ("done", "failed", "cancelled"):
            told = (answer.get("compile") or {}).get("toolchain") or answer.get("error") or answer["status"]
            with self.lock:
                self.seen.setdefault(job, set()).add(f"{answer['status']} {told}")

    def was_refused(self, why: str) -> None:
        with self.lock:
            self.refused[why] = self.refused.get(why, 0) + 1


@contextmanager
def a_full_disk(folder: Path) -> Iterator[None]:
    """The file system of `folder` has no room."""
    filler = folder / "filler"
    try:
        with suppress(OSError), filler.open("wb") as file:
            while True:
                file.write(bytes(1 << 20))
        with suppress(OSError), filler.open("ab", buffering=0) as file:
            while True:
                file.write(b"x")
        yield
    finally:
        filler.unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, mib: int) -> Iterator[Path]:
    """A file system of its own."""
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
