"""The endpoint of workers on a real port, and workers as processes of their own."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn
from fastmcp.server.auth import StaticTokenVerifier
from starlette.applications import Starlette
from websockets.sync.client import ClientConnection, connect

from amdkernel_mcp import __version__
from amdkernel_mcp.server.admission.connections import bounded
from amdkernel_mcp.server.workers import worker_route
from amdkernel_mcp.workers.hub import WorkerHub, build
from amdkernel_mcp.workers.messages import FRAME_BYTES, FromServer, FromWorker, Hello, encode, from_server
from tests.server.http_server import free_port
from tests.waiting import AT_MOST_S

WORKER, USER = "token-of-a-worker-0123", "token-of-a-user-0123456"
WORKER_OF_GPU7 = "token-of-one-worker-012"
AMDKERNEL = str(Path(sys.executable).with_name("amdkernel"))
TOKENS = {
    WORKER: {"client_id": "*", "scopes": ["worker"]},
    WORKER_OF_GPU7: {"client_id": "gpu7", "scopes": ["worker"]},
    USER: {"client_id": "ann", "scopes": ["docs", "check"]},
}


@dataclass
class Server:
    """What serves workers. `hub`: those that are connected."""

    port: int
    hub: WorkerHub
    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    opened: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def worker(self, name: str, *options: str, token: str = WORKER) -> "Worker":
        """A worker with emulated targets, not yet connected."""
        log = self.folder / f"{name}-{len(self.processes)}.log"
        command = [AMDKERNEL, "worker", "--url", self.url, "--name", name, "--emulator", *options]
        with log.open("wb") as stderr:
            process = subprocess.Popen(command, env=os.environ | {"AMDK_TOKEN": token}, stderr=stderr)
        self.processes.append(process)
        return Worker(name, process, log)

    def connected(self, name: str, *options: str) -> "Worker":
        worker = self.worker(name, *options)
        until(lambda: self.is_there(name) or worker.process.poll() is not None)
        assert worker.process.poll() is None, worker.log.read_text()
        return worker

    def is_there(self, name: str) -> bool:
        return any(host.name == name and host.left_s is None for host in self.hub.hosts())

    def by_hand(
        self, name: str = "hand", changes: Mapping[str, object] | None = None, *, token: str | None = WORKER
    ) -> "HandWorker":
        """A connection that says what a test lets it say; it has introduced itself."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        url = f"ws://127.0.0.1:{self.port}/worker"
        opened = connect(url, additional_headers=headers, max_size=FRAME_BYTES, compression=None, close_timeout=1)
        socket = self.opened.enter_context(opened)
        said = {
            "version": __version__, "build": build(), "name": name, "image_id": "sha256:0", "isolation": "docker",
            "emulator": True, "slots": 4, "gpus": [],
        }  # fmt: skip
        hand = HandWorker(socket)
        hand.say(Hello.model_validate(said | dict(changes or {})))
        return hand


@dataclass
class Worker:
    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def containers(self, form: str = "{{.ID}}") -> list[str]:
        """What `docker ps` says, in the form `form`, of the containers of this process that run."""
        label = f"label=amdkernel.process={self.label}"
        command = ["docker", "ps", f"--format={form}", "--filter", label]
        return subprocess.check_output(command, text=True).split()

    @property
    def label(self) -> str:
        pid = self.process.pid
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return f"{pid}:{after_name[19]}"


@dataclass
class HandWorker:
    socket: ClientConnection

    def say(self, message: FromWorker) -> None:
        self.socket.send(encode(message))

    def hear(self, timeout_s: float = 60) -> FromServer:
        frame = self.socket.recv(timeout_s)
        assert isinstance(frame, bytes)
        return from_server(frame)


@contextlib.contextmanager
def server_with_workers(folder: Path, port: int | None = None) -> Iterator[Server]:
    hub = WorkerHub(["configured"])
    auth = StaticTokenVerifier(tokens=TOKENS)
    app = Starlette(routes=[worker_route(auth, lambda: hub, None)])
    port = port or free_port()
    config = uvicorn.Config(
        app, port=port, http=bounded(128, lambda each: each), ws="websockets-sansio", ws_max_size=FRAME_BYTES,
        ws_per_message_deflate=False, ws_ping_interval=None, log_level="warning", timeout_graceful_shutdown=2,
    )  # fmt: skip
    running = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(running.serve()))
    thread.start()
    server = Server(port, hub, folder)
    try:
        until(lambda: running.started)
        yield server
    finally:
        server.opened.close()
        for process in server.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in server.processes:
            process.wait(timeout=AT_MOST_S)
        running.should_exit = True
        thread.join(60)


def until(condition: Callable[[], object], timeout_s: float = 90) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
