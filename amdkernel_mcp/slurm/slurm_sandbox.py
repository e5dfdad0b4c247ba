"""The sandbox of `slurm:ARCH`: kernels are compiled and judged on the server's machine, and run on a node.

So no GPU of the cluster is held while a compiler works. Inside `exclusively` one GPU is kept for all runs, and what
looks at that GPU runs on its node as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Unpack

from amdkernel_mcp.execution.brought_hosts import LostWorkerError
from amdkernel_mcp.execution.sandbox import Completed, RunOptions, Sandbox, SandboxKind
from amdkernel_mcp.progress import silent
from amdkernel_mcp.results.job_answer import Isolation
from amdkernel_mcp.slurm.allocations import Allocation, Allocations
from amdkernel_mcp.work import Work, current_work, doing

MOST_TRIES = 3
"""Of a run whose node was lost: nodes that fail together lose it more than once, and a kernel that ends its node must
not end them all."""


class SlurmSandbox:
    """Implements `Sandbox`. Thread-safe."""

    def __init__(self, allocations: Allocations, arch: str, here: Sandbox) -> None:
        """`here`: the sandbox of this machine."""
        self.isolation: Isolation = here.isolation
        self.image_id = here.image_id
        self._allocations = allocations
        self._arch = arch
        self._here = here

    def run(
        self,
        kind: SandboxKind,
        command: Sequence[str],
        files: Mapping[str, bytes],
        **options: Unpack[RunOptions],
    ) -> Completed:
        """See `Sandbox.run`. Raises SlurmError as well. A run whose node was lost is taken again on another GPU, up to
        MOST_TRIES times in all, where nothing was read from its stdin and no times are measured."""

        def run_in(sandbox: Sandbox) -> Completed:
            return sandbox.run(kind, command, files, **options)

        held = _held(current_work())
        if kind in ("torch", "triton") or (kind in ("compile", "look") and held is None):
            return run_in(self._here)
        if held is not None:
            return run_in(held.sandbox)
        for _ in range(MOST_TRIES - 1):
            try:
                return self._on_a_gpu(run_in)
            except LostWorkerError:
                if options.get("stdin_stream") is not None:
                    raise
        return self._on_a_gpu(run_in)

    def _on_a_gpu(self, run_in: Callable[[Sandbox], Completed]) -> Completed:
        work = current_work().saying(silent)
        with self._allocations.borrowed(self._arch, work) as allocation:
            try:
                return run_in(allocation.sandbox)
            except LostWorkerError:
                self._allocations.check_not_cancelled(allocation, work)
                raise

    @contextmanager
    def exclusively(self, work: Work) -> Iterator[Work]:
        """A block in which `work` has one GPU for all its runs; inside another such block it has it already."""
        if _held(work) is not None:
            yield work
            return
        with self._allocations.borrowed(self._arch, work) as allocation, doing(replace(work, from_slurm=allocation)):
            yield current_work()

    def is_connected(self) -> bool:
        """See `Sandbox.is_connected`; each run finds out for itself."""
        return True

    def close(self) -> None:
        """See `Sandbox.close`. The allocations are closed by who opened them."""


def _held(work: Work) -> Allocation | None:
    return work.from_slurm if isinstance(work.from_slurm, Allocation) else None


def held_render_node() -> str | None:
    """The render node of the GPU that the present work has from Slurm."""
    held = _held(current_work())
    return held.gpu.render_node if held else None
