"""A server whose engine answers without a sandbox: what is tested here is the way to a tool and back."""

import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP

from amdkernel_mcp.config import Settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.compile import Compile
from amdkernel_mcp.results.kernels import CompileResult, Diagnostic
from amdkernel_mcp.server.app import build_server
from amdkernel_mcp.work import Work


class StandInEngine(Engine):
    """`compile` does what the source says: wait for `go`, fail, answer at length, or echo the text as a diagnostic."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.go = threading.Event()
        self.started = threading.Event()
        self.ended = threading.Event()

    def do(self, asked: Any, work: Work | None = None, **_: object) -> Any:
        assert isinstance(asked, Compile)
        source = asked.source
        self.started.set()
        if source == "wait":
            try:
                while not self.go.wait(0.02):
                    (work or Work()).say("compiling")
            finally:
                self.ended.set()
        if source == "break":
            raise ZeroDivisionError("a secret of the server")
        messages = [f"message {number} {'x' * 200}" for number in range(200)] if source == "long" else [source]
        found = [Diagnostic(severity="warning", message=message, line=1) for message in messages]
        return CompileResult(ok=True, arch=asked.arch or "gfx942", diagnostics=found, target=asked.file_name)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def engine(settings: Settings) -> StandInEngine:
    return StandInEngine(settings)


@pytest.fixture
def serve(settings: Settings, engine: StandInEngine, tmp_path: Path) -> Callable[[bool], FastMCP]:
    """Makes a server with a data folder of its own: it would take over the jobs that another test left."""
    own = settings.model_copy(update={"data_dir": tmp_path / "data"})
    return lambda local: build_server(own, local=local, engine=lambda _: engine)


@pytest.fixture(params=["auto", "legacy"])
async def client(request: pytest.FixtureRequest, serve: Callable[[bool], FastMCP]) -> AsyncIterator[Client]:
    """A client of the local server, in each era of the protocol."""
    async with Client(serve(True), mode=request.param) as opened:
        yield opened


@pytest.fixture
async def remote(serve: Callable[[bool], FastMCP]) -> AsyncIterator[Client]:
    """A client of a server that is not on its machine."""
    async with Client(serve(False)) as opened:
        yield opened
