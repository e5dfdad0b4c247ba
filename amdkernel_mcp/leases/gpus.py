"""The GPUs of one configuration, as leases name them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from amdkernel_mcp.errors import TargetError
from amdkernel_mcp.execution.gpu_idle import read_state
from amdkernel_mcp.leases.gpu_health import QuarantinedError
from amdkernel_mcp.leases.gpu_leases import GpuLeases, Kind
from amdkernel_mcp.leases.health_kernel import HealthKernel
from amdkernel_mcp.leases.held import lease
from amdkernel_mcp.leases.hygiene import Hygiene
from amdkernel_mcp.work import Work

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
    def leased(self, kind: Kind, work: Work) -> Iterator[Work]:
        """A block in which `work` holds this GPU, as the part of it that the block gets; it may have it alone already.

        Raises what `held.lease` raises, SandboxError, and QuarantinedError for a GPU that is not fit for use.
        """
        if self._gpu in work.held:
            yield work
            return
        self._leases.health.refuse_quarantined(self._gpu, self._target)
        with (
            lease(self._leases, self._gpu, kind, work, name=self._target) as (asked, held),
            self._hygiene.watched(asked, held) as watched,
        ):
            yield watched

    def quarantine(self) -> QuarantinedError | None:
        """Why nothing runs on it now. Raises DatabaseError."""
        try:
            self._leases.health.refuse_quarantined(self._gpu, self._target)
        except QuarantinedError as error:
            return error
        return None
