"""What the server knows of workers, where those on the nodes report through files: see machine/amdkernel."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from slurm_cluster import SlurmCluster

from amdkernel_mcp.execution.brought_hosts import LostWorkerError
from amdkernel_mcp.execution.gpus import Gpu
from amdkernel_mcp.execution.sandbox import Completed, SandboxKind
from amdkernel_mcp.results.job_answer import Isolation


class StandInWorkers:
    """As the hub: `expected` opens a place for the one worker with a key. `refused` lists all others that came."""

    def __init__(self, cluster: SlurmCluster) -> None:
        self._cluster = cluster
        self._folder = cluster.shared
        self._expected: set[str] = set()
        self.accepted: dict[str, str] = {}  # by key; the job's id

    @contextmanager
    def expected(self, key: str) -> Iterator[StandInArrival]:
        self._expected.add(key)
        try:
            yield StandInArrival(self, key)
        finally:
            self._expected.remove(key)
            self.tell_to_go(key)

    def tell_to_go(self, key: str) -> None:
        (self._folder / f"{key}.end").touch()

    def came(self, key: str) -> StandInSandbox | None:
        """The first that came with a key that is expected."""
        file = self._folder / f"{key}.came"
        if key not in self._expected or not file.exists() or not file.read_text().endswith("\n"):
            return None
        job, node, index, _ = file.read_text().splitlines()[0].split()
        self.accepted[key] = job
        return StandInSandbox(self._cluster, key, job, node, int(index))

    def signals(self) -> list[str]:
        """Keys whose workers got SIGTERM."""
        return [path.name.removesuffix(".signal") for path in self._folder.glob("*.signal")]

    def all_that_came(self) -> dict[str, list[str]]:
        """By key: the jobs whose workers came."""
        files = self._folder.glob("*.came")
        return {
            file.name.removesuffix(".came"): [line.split()[0] for line in file.read_text().splitlines()]
            for file in files
        }


class StandInArrival:
    def __init__(self, workers: StandInWorkers, key: str) -> None:
        self._workers = workers
        self._key = key

    def came(self) -> tuple[StandInSandbox, Gpu] | None:
        sandbox = self._workers.came(self._key)
        return (sandbox, sandbox.gpu) if sandbox else None


class StandInSandbox:
    """Runs nothing: says where it would. Lost when its node is."""

    isolation: Isolation = "docker"
    image_id = "sha256:0"

    def __init__(self, cluster: SlurmCluster, key: str, job: str, node: str, index: int) -> None:
        self._cluster = cluster
        self.key, self.job, self.node, self.index = key, job, node, index
        self.gpu = Gpu(index, "gfx942", "MI300X", f"/dev/dri/renderD{128 + index}")

    def run(self, kind: SandboxKind, command: Sequence[str], files: Mapping[str, bytes], **_: Any) -> Completed:
        if command[0] == "lose the node" and self.node == command[1]:
            self._cluster.kill_node(self.node)
        if command[0] == "be cancelled":
            self._cluster.inside("ctl", "scancel", self.job)
        if command[0] == "be cancelled" or not self.is_connected():
            raise LostWorkerError(f"the worker of {self.node} was lost while a run was with it")
        where = {"node": self.node.encode(), "index": str(self.index).encode(), "kind": kind.encode(), **files}
        return Completed(0, where, "", timed_out=False, out_of_memory=False, truncated=False, seconds=0.0)

    def is_connected(self) -> bool:
        form = ["docker", "inspect", "--format", "{{.State.Running}}", self._cluster.container(self.node)]
        return subprocess.run(form, capture_output=True, text=True, check=True).stdout.strip() == "true"

    def close(self) -> None:
        pass
