"""The GPUs of one configuration, as leases name them."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from amdkernel_mcp.execution.gpu_idle import GpuState, read_state
from amdkernel_mcp.leases.gpu_leases import GpuLeases, Kind
from amdkernel_mcp.leases.held import holds, lease
from amdkernel_mcp.leases.work import current_work

if TYPE_CHECKING:
    from amdkernel_mcp.execution.sandbox import Sandbox


class LeasedGpu:
    """One GPU of one machine, to be leased."""

    def __init__(
        self, leases: GpuLeases, sandbox: Sandbox, host: str | None, find_render_node: Callable[[], str]
    ) -> None:
        """`sandbox`: of that machine; its work without a GPU needs no lease."""
        self._leases = leases
        self._sandbox = sandbox
        self._host = host or socket.gethostname()
        self._find_render_node = find_render_node
        self._name: str | None = None

    def leased(
        self, kind: Kind, on_progress: Callable[[str], None] = lambda _: None
    ) -> AbstractContextManager[None, bool | None]:
        """A block that holds this GPU; inside another such block it has it already.

        Raises what `held.lease` raises, and SandboxError.
        """
        name = self._find_name()
        return nullcontext() if holds(name) else lease(self._leases, name, kind, current_work(), on_progress)

    def _find_name(self) -> str:
        """The GPU's own number, which is the same from each machine; else its place, as this machine calls it."""
        if self._name is None:
            node = self._find_render_node()
            state = read_state(self._sandbox, node)
            if not isinstance(state, GpuState):
                return f"{self._host}{node}"  # no benchmark is made where the state cannot be read
            self._name = state.unique_id
        return self._name
