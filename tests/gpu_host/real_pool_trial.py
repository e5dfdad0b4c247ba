"""The trial of a team with real jobs: two users, 40 jobs of mixed verbs, four GPUs, one slow and one sick.

A server over HTTP, two clients, and the GPU host in a box, whose GPUs are emulated. The slow GPU has a quarter of a
CPU, the sick one stops each kernel after a few steps. tests/jobs/pool_trial.py is the same with waits in place of work.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
from fastmcp import Client
from fastmcp.client.auth import BearerAuth
from gpu_host_box import GpuHost
from trees import HERE, Tree, tree_of

from tests.server.http_server import ANN, BOB, HttpServer

EXAMPLES = Path(__file__).parents[2] / "examples/vector_add/kernels"
GPUS, SLOW, SICK = ("gpu1:0", "gpu1:1", "gpu1:2", "gpu1:3"), "gpu1:1", "gpu1:2"
JOBS = 40
VERBS = ("check", "benchmark", "profile", "check", "benchmark")
POOLS = ("any:MI300X", "gfx942", "any")
OPTIONS = "arch=gfx942,residency=1,clock=simulated,clock_seed=1,clock_scale=100"


def four_gpus() -> Tree:
    """The first four GPUs of a machine with eight MI300X."""
    tree = tree_of(HERE / "mi300x_spx.toml")
    nodes = {
        path for path in tree.files if path.startswith(tuple(f"class/kfd/kfd/topology/nodes/{n}/" for n in range(5, 9)))
    }
    devices = {path for path in tree.files if path.startswith(tuple(f"class/drm/renderD{n}/" for n in range(132, 136)))}
    return replace(tree, files={path: text for path, text in tree.files.items() if path not in nodes | devices})


def make_one_slow_and_one_sick(host: GpuHost) -> None:
    """Of the four GPUs; each other one has the CPUs that there are."""
    for gpu, own in ((SLOW, {"cpus": 0.25}), (SICK, {"options": f"{OPTIONS},step_limit=4"})):
        minor = 128 + GPUS.index(gpu)
        host.inside("sh", "-c", f"cat >/machine/gpu-{minor}.json", stdin=json.dumps(own).encode())


@dataclass
class Trial:
    """What was seen. Times are seconds of this process's clock."""

    answers: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """The verb and its answer."""
    seen: list[tuple[float, dict[str, int], dict[str, int], int]] = field(default_factory=list)
    """Each look at the server: when, the jobs and the leases of each GPU, how many jobs wait."""
    ended_s: float = 0.0

    def empty_at(self) -> int:
        """The first look after which nothing waited any more."""
        return 1 + max((at for at, (*_, waiting) in enumerate(self.seen) if waiting), default=-1)

    def share(self, gpu: str, *, leased: bool = False) -> float:
        """Of the looks from the first job until nothing waited: in how many it had a job, or a lease."""
        looks = self.seen[: self.empty_at()]
        return sum((leases if leased else jobs).get(gpu, 0) > 0 for _, jobs, leases, _ in looks) / len(looks)

    def report(self) -> Iterator[str]:
        """A line for each GPU, and two for the whole."""
        ran = Counter(answer.get("target") for _, answer in self.answers)
        for gpu in GPUS:
            kind = "slow" if gpu == SLOW else "sick" if gpu == SICK else "healthy"
            yield (
                f"{gpu} ({kind:7}) {ran[gpu]:3} jobs; has jobs {self.share(gpu):6.1%}, is leased "
                f"{self.share(gpu, leased=True):6.1%} of {self.empty_at()} looks until nothing waited"
            )
        told = Counter(f"{verb} {answer.get('verdict') or answer.get('status')}" for verb, answer in self.answers)
        yield ", ".join(f"{count} {what}" for what, count in sorted(told.items()))
        yield f"{self.seen[self.empty_at() - 1][0]:.0f} s until nothing waited, {self.ended_s:.0f} s until the end"


async def run_trial(server: HttpServer, *, seed: int = 1) -> Trial:
    """Ann sends 26 jobs at once, and bob 14, each for a pool."""
    trial, begun_s = Trial(), time.monotonic()
    numbers = list(range(JOBS))
    random.Random(seed).shuffle(numbers)
    sources = {name: (EXAMPLES / f"{name}.hip").read_text() for name in ("naive", "better")}

    async def one(client: Client[Any], number: int) -> tuple[str, dict[str, Any]]:
        verb = VERBS[number % len(VERBS)]
        # a comment of its own, so that nothing is known already
        asked: dict[str, Any] = {
            "problem": "vector_add",
            "source": f"{sources['better']}// kernel {number}\n",
            "target": POOLS[number % len(POOLS)],
        }
        if verb != "check":
            asked["case"] = "n=4096"
        if verb == "benchmark":
            asked["baseline_source"] = sources["naive"]
        answer = (await client.call_tool(f"{verb}_kernel", asked | {"wait_s": 0})).structured_content or {}
        job = answer["job_id"]
        while answer["status"] in ("queued", "running"):
            answer = (await client.call_tool("get_job", {"job_id": job, "wait_s": 60})).structured_content or {}
        return verb, answer[verb] if answer.get(verb) else answer

    async def look(until: asyncio.Event) -> None:
        async with httpx.AsyncClient(headers={"Authorization": f"Bearer {ANN}"}, timeout=60) as http:
            while not until.is_set():
                status = (await http.get(f"{server.url.removesuffix('/mcp')}/status.json")).json()
                gpus = [each for each in status["targets"] if each["name"] in GPUS]
                jobs, leases = ({each["name"]: len(each[what]) for each in gpus} for what in ("jobs", "leases"))
                trial.seen.append((time.monotonic() - begun_s, jobs, leases, len(status["waiting"])))
                await asyncio.sleep(0.5)

    async with Client(server.url, auth=BearerAuth(ANN)) as ann, Client(server.url, auth=BearerAuth(BOB)) as bob:
        asked = [one(bob if at % 3 == 2 else ann, number) for at, number in enumerate(numbers)]
        ended = asyncio.Event()
        working = asyncio.gather(*asked)
        looking = asyncio.create_task(look(ended))
        try:
            trial.answers = list(await working)
        finally:
            ended.set()
            await looking
    trial.ended_s = time.monotonic() - begun_s
    return trial
