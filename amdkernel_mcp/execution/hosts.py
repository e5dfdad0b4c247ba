"""The hosts of one configuration, each a `Host` as other packages add them: this machine, those of the settings, what
workers bring, and schedulers such as Slurm."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.added_hosts import Host, added_host
from amdkernel_mcp.execution.gpus import Gpu, id_of, local_gpus
from amdkernel_mcp.hardware.target import Target

if TYPE_CHECKING:
    from amdkernel_mcp.execution.brought_hosts import WorkerHost, Workers
    from amdkernel_mcp.execution.sandbox import Sandbox

EMULATED = {
    "gfx942": "MI300X",
    "gfx90a": "MI250X",
    "gfx950": "MI355X",
    "gfx1100": "RX 7900 XTX",
    "gfx1201": "RX 9070 XT",
}


class Scheduler(Host, Protocol):
    """A host whose GPUs another scheduler gives: `Target.is_scheduled`."""

    def close(self) -> None:
        """Free what this process holds of it."""
        ...


class Hosts:
    """By their names. `compiles`: see `open_sandbox`."""

    def __init__(self, settings: Settings, workers: Workers | None, *, compiles: bool = True) -> None:
        self._settings = settings
        self._workers = workers
        self._compiles = compiles
        self._schedulers: dict[str, Scheduler] = {}

    def add(self, scheduler: Scheduler) -> None:
        """From now on its targets can be opened."""
        self._schedulers[scheduler.name] = scheduler

    def of(self, name: str | None) -> Host:
        """The host of this name; None: this machine. An unknown one fails where it is used."""
        if name is None:
            return ThisMachine(self._settings, compiles=self._compiles)
        if (scheduler := self._schedulers.get(name)) is not None:
            return scheduler
        if (added := added_host(name, self._settings)) is not None:
            return added
        if name not in self._settings.hosts and self._workers is not None:
            return BroughtHost(self._workers, name)
        return DockerHost(self._settings, name, compiles=self._compiles)

    def close(self) -> None:
        """Free what this process has from schedulers."""
        for each in self._schedulers.values():
            each.close()


class ThisMachine:
    """Implements `Host`: the emulator of each architecture, and the GPUs here."""

    name = "local"

    def __init__(self, settings: Settings, *, compiles: bool = True) -> None:
        self._settings = settings
        self._compiles = compiles

    def targets(self) -> Sequence[Target]:
        """See `Host.targets`; they have no host."""
        emulated = [Target(f"emulator:{arch}", "emulator", arch, gpu) for arch, gpu in EMULATED.items()]
        return [*emulated, *_gpu_targets(local_gpus(), None)]

    def open(self, target: Target) -> Sandbox:
        """See `Host.open`: containers, or none where Docker is not installed."""
        from amdkernel_mcp.execution.open_sandbox import open_sandbox

        return open_sandbox(self._settings, gpu=target.index, compiles=self._compiles)

    def render_node(self, target: Target) -> str:
        """See `Host.render_node`."""
        return _node_of(local_gpus(), target)


class DockerHost:
    """Implements `Host`: a machine of the setting `hosts`, with its GPUs."""

    def __init__(self, settings: Settings, name: str, *, compiles: bool = True) -> None:
        self.name = name
        self._settings = settings
        self._compiles = compiles

    def targets(self) -> Sequence[Target]:
        """See `Host.targets`."""
        return _gpu_targets(self._gpus(), self.name)

    def open(self, target: Target) -> Sandbox:
        """See `Host.open`: containers of its daemon."""
        from amdkernel_mcp.execution.open_sandbox import open_sandbox

        return open_sandbox(self._settings, host=self.name, gpu=target.index, compiles=self._compiles)

    def render_node(self, target: Target) -> str:
        """See `Host.render_node`."""
        return _node_of(self._gpus(), target)

    def _gpus(self) -> Sequence[Gpu]:
        from amdkernel_mcp.execution.remote_gpus import remote_gpus

        return remote_gpus(self._settings, self.name)


class BroughtHost:
    """Implements `Host`: a machine that reaches out, with what its worker offers."""

    def __init__(self, workers: Workers, name: str) -> None:
        self.name = name
        self._workers = workers

    def targets(self) -> Sequence[Target]:
        """See `Host.targets`. Raises LostWorkerError, CancelledWorkError."""
        brought = self._workers.find(self.name)
        return [] if brought is None else targets_of_worker(brought)

    def open(self, target: Target) -> Sandbox:
        """See `Host.open`: what its worker runs."""
        return self._workers.sandbox(self.name, target.index)

    def render_node(self, target: Target) -> str:
        """See `Host.render_node`."""
        brought = self._workers.find(self.name)
        return _node_of(brought.gpus if brought else (), target)


def targets_of_worker(host: WorkerHost) -> Sequence[Target]:
    """Its GPUs, then its emulator where it has one."""
    emulated = EMULATED.items() if host.emulator else ()
    emulators = [Target(f"{host.name}:{arch}", "emulator", arch, gpu, host=host.name) for arch, gpu in emulated]
    return [*_gpu_targets(host.gpus, host.name), *emulators]


def _gpu_targets(gpus: Iterable[Gpu], host: str | None) -> list[Target]:
    return [
        Target(f"{host or 'local'}:{gpu.index}", "gpu", gpu.arch, gpu.name, host, gpu.index, id=id_of(gpu, host))
        for gpu in gpus
    ]


def _node_of(gpus: Iterable[Gpu], target: Target) -> str:
    for gpu in gpus:
        if gpu.index == target.index:
            return gpu.render_node
    raise TargetError(f"{target.name} is not there any more")
