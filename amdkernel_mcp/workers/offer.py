"""What a worker offers: the GPUs of its machine, or of a host that its machine reaches, and emulated targets."""

from __future__ import annotations

from collections.abc import Sequence

from amdkernel_mcp import __version__
from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.gpus import Gpu, local_gpus
from amdkernel_mcp.execution.remote_gpus import remote_gpus
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.execution.sandboxes import Sandboxes
from amdkernel_mcp.hardware.target import Target
from amdkernel_mcp.workers.hub import build
from amdkernel_mcp.workers.messages import MOST_RUNS, Hello, OfferedGpu
from amdkernel_mcp.workers.reset import reset

RUNS_PER_GPU = 4
"""One that is timed, and what is compiled and judged for others meanwhile."""


class Offer:
    """The sandboxes that a worker opens. `close` removes their containers."""

    def __init__(
        self,
        settings: Settings,
        *,
        only: Sequence[int] = (),
        host: str | None = None,
        emulator: bool = False,
        may_reset: bool = False,
        compiles: bool = True,
    ) -> None:
        """`only`: indices of GPUs; without any all. `host`: of the setting `hosts`. `compiles`: whether containers for
        compiles are kept warm. Raises TargetError where there is nothing to offer, SandboxError."""
        found = list(local_gpus() if host is None else remote_gpus(settings, host))
        known = {gpu.index: gpu for gpu in found}
        where = host or "this machine"
        if missing := [index for index in only if index not in known]:
            has = ", ".join(map(str, known)) or "none"
            raise TargetError(f"{where} has no GPU {missing[0]}", hint=f"the kernel driver lists {has}")
        self.gpus: tuple[Gpu, ...] = tuple(known[index] for index in (only or known))
        self.emulator = emulator
        self._host = host
        self._may_reset = may_reset
        self._sandboxes = Sandboxes(settings, compiles=compiles)
        if not self.gpus and not emulator:
            raise TargetError(
                f"the kernel driver of {where} lists no AMD GPU",
                hint="is amdgpu loaded? --emulator offers emulated GPUs, which any machine has",
            )

    def sandbox(self, gpu: int | None) -> Sandbox:
        """The sandbox for one of its GPUs, or for none. Raises SandboxError, ToolchainError, TargetError."""
        if gpu is not None and all(each.index != gpu for each in self.gpus):
            raise TargetError(f"this worker does not offer GPU {gpu}")
        target = Target("offered", "emulator" if gpu is None else "gpu", "", "", host=self._host, index=gpu)
        return self._sandboxes.of(target)

    def reset(self, index: int) -> tuple[int, str]:
        """See `reset.reset`. Raises TargetError where it is not allowed, or not tried."""
        gpu = next((each for each in self.gpus if each.index == index), None)
        if gpu is None or not self._may_reset:
            raise TargetError("this worker resets no GPU: it was started without --allow-reset")
        return reset(gpu, self.gpus)

    def hello(self, name: str, key: str | None) -> Hello:
        """How the worker introduces itself. Opens a sandbox; raises what `sandbox` raises."""
        sandbox = self.sandbox(self.gpus[0].index if self.gpus else None)
        return Hello(
            version=__version__,
            build=build(),
            name=name,
            key=key,
            image_id=sandbox.image_id,
            isolation=sandbox.isolation,
            emulator=self.emulator,
            may_reset=self._may_reset,
            slots=min(MOST_RUNS, RUNS_PER_GPU * max(1, len(self.gpus) + self.emulator)),
            gpus=[
                OfferedGpu(
                    index=gpu.index,
                    arch=gpu.arch,
                    name=gpu.name,
                    render_node=gpu.render_node,
                    unique_id=gpu.device_id or gpu.unique_id,
                )
                for gpu in self.gpus
            ],
        )

    def close(self) -> None:
        """Remove all containers."""
        self._sandboxes.close()
