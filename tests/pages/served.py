"""The page over jobs that start and end when a test says so, and over a real history."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

from amdkernel_mcp import __version__
from amdkernel_mcp.access.listed import user_list
from amdkernel_mcp.access.scopes import USUAL
from amdkernel_mcp.cache_folder import CacheFolder
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.table import verb_named
from amdkernel_mcp.history.attempt import Attempt, ProblemUsed, new_id, now
from amdkernel_mcp.history.history import History
from amdkernel_mcp.jobs.request import Answer, Request
from amdkernel_mcp.jobs.store import JobStore
from amdkernel_mcp.leases.gpu_leases import GpuLeases
from amdkernel_mcp.pages.routes import Pages
from amdkernel_mcp.pages.sign_in import Known, SignIn, Viewer
from amdkernel_mcp.pages.status import Running, Targets
from amdkernel_mcp.results.kernels import CheckResult
from amdkernel_mcp.results.machine import TargetInfo
from amdkernel_mcp.server.admission.permissions import needed, refuse_without
from amdkernel_mcp.server.health import Health
from amdkernel_mcp.server.metrics import Counts
from amdkernel_mcp.work import Work
from amdkernel_mcp.workers.connection import Connection
from amdkernel_mcp.workers.hub import WorkerHub, build
from amdkernel_mcp.workers.messages import FromServer, Hello

ANN, BOB, EVE = "token-of-ann-0123456789", "token-of-bob-0123456789", "token-of-eve-0123456789"
GPU = "1a2b3c4d5e6f7000"  # of gpu1:0
HOSTILE = "<b>eve</b>"


@dataclass
class Served:
    """A server with one worker. `names`: token and user; `scopes`: of unusual tokens. A test may change both."""

    app: Starlette
    jobs: JobStore
    history: History
    names: dict[str, str]
    gate: threading.Event
    scopes: dict[str, tuple[str, ...]]
    noted: list[tuple[str, str, str | None, str]]
    leases: GpuLeases
    answers: CacheFolder
    workers: WorkerHub
    engine: Engine
    clients: list[TestClient] = field(default_factory=list)

    def client(self, token: str | None = None) -> TestClient:
        """A browser; signed in with `token`."""
        made = TestClient(self.app, base_url="http://127.0.0.1", client=("192.0.2.7", 50000))
        made.headers["accept"] = "text/html"
        self.clients.append(made)
        if token:
            assert made.post("/sign-in", data={"token": token}).status_code == 200
        return made

    def start(self, owner: str, **arguments: object) -> str:
        """The id of a check that runs until the gate opens, or waits behind another."""
        return self.jobs.submit(owner, Request("check", arguments)).id

    def attempt(self, by: str = "user:ann", **changes: Any) -> Attempt:
        """An attempt in the history. `text`: of its kernel file; `problem`: a name; `judged`: its hash."""
        source = self.history.artefacts.keep(changes.pop("text", "// kernel\n").encode())
        used = {"name": changes.pop("problem", "vector_add"), "hash": changes.pop("judged", None)}
        problem = ProblemUsed(files={}, **used)
        made = Attempt.model_validate({
            "id": new_id(), "verb": "check", "created": now(), "by": by, "parent": None, "version": "0",
            "file_name": "k.hip", "source": source, "baseline": None, "problem": problem, "target": "emulator:gfx942",
            "options": {}, "verdict": "correct", "answer": {},
        } | changes)  # fmt: skip
        self.history.add(made)
        return made

    def timed(self, time_us: float, *, evidence: str = "modelled", **changes: Any) -> Attempt:
        """A benchmark with this time."""
        answer = {"time_us": {"value": time_us, "evidence": evidence}, "speedup": changes.pop("speedup", {})}
        return self.attempt(verb="benchmark", **{"verdict": "faster", "answer": answer} | changes)


@contextmanager
def served(folder: Path, *, tokens: bool = True) -> Iterator[Served]:
    settings = load_settings({"data_dir": folder / "data", "cache_dir": folder / "cache"})
    names = {ANN: "ann", BOB: "bob", EVE: HOSTILE}
    scopes: dict[str, tuple[str, ...]] = {}
    noted: list[tuple[str, str, str | None, str]] = []
    gate = threading.Event()

    def perform(request: Request, work: Work) -> Answer:
        work.say(str(request.arguments.get("says", "running case 1")))
        while not gate.wait(0.01):
            work.say("running case 2")
        if "fails" in request.arguments:
            raise RuntimeError("secret of the server")
        return CheckResult(verdict="correct", attempt=request.arguments.get("attempt"))

    async def verify(token: str) -> Known | None:
        return Known(names[token], frozenset(scopes.get(token, USUAL))) if token in names else None

    def note(_: object, viewer: Viewer | None, action: str, job: str | None, outcome: str, owner: str | None) -> None:
        noted.append((viewer.user if viewer else "", action, job, f"{outcome} {owner}" if owner else outcome))

    def targets() -> list[TargetInfo]:
        common: dict[str, Any] = {"arch": "gfx942", "rocm": None, "default": False, "ready": True}
        return [
            TargetInfo(name="emulator:gfx942", kind="emulator", gpu="MI300X", **common | {"default": True}),
            TargetInfo(name="gpu1:0", kind="gpu", gpu="MI300X", gpu_id=GPU, **common),
            TargetInfo(name="gpu2:0", kind="gpu", gpu="unknown", note="no route", **common | {"ready": False}),
            *[
                TargetInfo(name=f"{host.name}:gfx942", kind="emulator", gpu="MI300X", note=host.note, **common)
                for host in engine.workers.hosts()
            ],
        ]

    def refuse(held: frozenset[str], request: Request) -> None:
        tool = verb_named(request.verb).tool
        wanted = needed(tool, request.arguments.get("target"), default_target=settings.default_target)
        refuse_without(wanted, held, tool)

    engine, history, counts = Engine(settings), History(settings), Counts()
    jobs, leases = JobStore(perform, 1, watch=counts.job_ended), GpuLeases(settings)
    users = user_list([], set(names.values()))
    running = Running(
        engine,
        jobs,
        Targets(targets, changes=lambda: engine.workers.changes),
        settings.default_target,
        leases,
        lambda: users,
        refuse=refuse,
    )
    sign_in = SignIn(verify if tokens else None)
    all_routes = [*Pages(sign_in, lambda: running, note).routes(), *Health(sign_in, lambda: running, counts).routes()]
    app = Starlette(routes=[Route(path, handler, methods=[*methods]) for path, methods, handler in all_routes])
    here = Served(app, jobs, history, names, gate, scopes, noted, leases, engine.answers, engine.workers, engine)
    try:
        yield here
    finally:
        gate.set()
        for client in here.clients:
            client.close()
        jobs.close()
        engine.close()
        leases.close()
        history.close()


def finish(here: Served, *jobs: tuple[str, str]) -> None:
    """Let all jobs run and wait for those of (id, owner)."""
    here.gate.set()
    for job, owner in jobs:
        assert here.jobs.find(job, owner).wait(60)


class Link:
    def send(self, message: FromServer) -> None: ...

    def post(self, message: FromServer) -> None: ...


def join(here: Served, name: str = "box9") -> Connection:
    """A worker with an emulated target."""
    hello = Hello(
        version=__version__, build=build(), name=name, image_id="sha256:0", isolation="docker", emulator=True, slots=4,
        gpus=[],
    )  # fmt: skip
    return here.workers.join(hello, Link())
