"""`amdkernel serve` in a process of its own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.waiting import AT_MOST_S

ANN, BOB = "token-of-ann-0123456789", "token-of-bob-0123456789"


@dataclass(frozen=True)
class HttpServer:
    url: str
    process: subprocess.Popen[bytes]
    log: Path
    data: Path

    def post(self, *, token: str | None = ANN, **headers: str) -> httpx.Response:
        """The answer to a first request in the older protocol."""
        opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}
        sent = {"accept": "application/json, text/event-stream"} | headers
        if token:
            sent["Authorization"] = f"Bearer {token}"
        return httpx.post(self.url, json=message, headers=sent, timeout=AT_MOST_S)

    def post_body(self, body: bytes | Iterator[bytes], *, token: str = ANN) -> httpx.Response:
        """The answer to `body`, which the server may give before it has read all of it."""
        sent = {"accept": "application/json, text/event-stream", "Authorization": f"Bearer {token}"}
        sent["content-type"] = "application/json"
        return httpx.post(self.url, content=body, headers=sent, timeout=AT_MOST_S)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def http_server(
    folder: Path,
    *,
    tokens: str | None,
    program: Path | None = None,
    port: int | None = None,
    options: Sequence[str] = (),
    **settings: str,
) -> Iterator[HttpServer]:
    port = port or free_port()
    environment = os.environ | {
        "AMDKERNEL_DATA_DIR": str(folder / "data"),
        "AMDKERNEL_CACHE_DIR": str(folder / "cache"),
        **{f"AMDKERNEL_{name.upper()}": value for name, value in settings.items()},
    }
    if tokens is not None:
        file = folder / "tokens"
        file.write_text(tokens)
        file.chmod(0o600)
        environment["AMDKERNEL_TOKENS_FILE"] = str(file)
    amdkernel = [sys.executable, str(program)] if program else [str(Path(sys.executable).with_name("amdkernel"))]
    command = [*amdkernel, "serve", "--port", str(port), *options]
    log = folder / "log"
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, env=environment, stderr=stderr)
    try:
        deadline = time.monotonic() + AT_MOST_S
        while process.poll() is None and time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        else:
            process.kill()
            process.wait()
            pytest.fail(f"the server did not start: {log.read_text()}")
        yield HttpServer(f"http://127.0.0.1:{port}/mcp", process, log, folder / "data")
    finally:
        process.terminate()
        try:
            process.wait(timeout=AT_MOST_S)
        finally:
            process.kill()  # nothing where it has ended; no server is left that slows later tests
            process.wait()
