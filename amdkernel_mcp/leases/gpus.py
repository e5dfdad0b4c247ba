"""The GPUs of one configuration, as leases name them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.gpu_idle import read_state
from amdkernel_mcp.execution.work import current_work
from amdkernel_mcp.leases.gpu_leases import GpuLeases, Kind
from amdkernel_mcp.leases.health_kernel import HealthKernel
from amdkernel_mcp.leases.held import lease
from amdkernel_mcp.leases.hygiene import Hygiene
from amdkernel_mcp.progress import Progress, silent

if TYPE_CHECKING:
    from amdkernel_mcp.execution.sandbox import Sandbox
    from amdkernel_mcp.hardware.target import Target
    from amdkernel_mcp.leases.gpu_leases import Asked
    from amdkernel_mcp.leases.reset import Tried


class LeasedGpu:
    """One GPU of one machine, to be leased."""

    def __init__(
        self,
        leases: GpuLeases,
        sandbox: Sandbox,
        target: Target,
        find_render_node: Callable[[], str],
        reset: Callable[[Asked, str], Tried | None] = lambda *_: None,
    ) -> None:
        """`sandbox`: of that machine; its work without a GPU needs no lease. `reset`: see `Hygiene`. Raises TargetError
        for another target."""
        if target.id is None:
            raise TargetError(f"{target.name} is not a GPU that can be leased")
        self._leases = leases
        self._gpu, self._target = target.id, target.name
        kernel = HealthKernel(sandbox, target)
        self._hygiene = Hygiene(
            leases, target.id, target.name, lambda: read_state(sandbox, find_render_node()), kernel.what_fails, reset
        )

    @contextmanager
    def leased(self, kind: Kind, on_progress: Progress = silent) -> Iterator[None]:
        """A block that holds this GPU; inside another such block it has it already.

        Raises what `held.lease` raises, SandboxError, and QuarantinedError for a GPU that is not fit for use.
        """
        work = current_work()
        if self._gpu in work.held:
            yield
            return
        self._leases.health.refuse_quarantined(self._gpu, self._target)
        with (
            lease(self._leases, self._gpu, kind, work, on_progress) as asked,
            self._hygiene.watched(asked),
        ):
            yield
