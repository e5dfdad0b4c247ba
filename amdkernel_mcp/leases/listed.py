"""GPUs as `amdkernel admin gpus` answers them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from amdkernel_mcp.results.access import GpuList, ListedGpu
from amdkernel_mcp.results.kernels import Clocks

if TYPE_CHECKING:
    from amdkernel_mcp.leases.gpu_health import KnownGpu


def gpu_list(known: Sequence[KnownGpu]) -> GpuList:
    """All of them."""
    return GpuList(gpus=[_listed(each) for each in known])


def _listed(gpu: KnownGpu) -> ListedGpu:
    held = gpu.quarantined_s is not None
    return ListedGpu(
        id=gpu.gpu,
        target=gpu.target,
        state="quarantined" if held else "suspect" if gpu.suspect else "usable",
        reason=gpu.reason if held else gpu.suspect,
        since=_utc(gpu.quarantined_s),
        looked=_utc(gpu.looked_s),
        seen=gpu.state.text if gpu.state else None,
        clocks=gpu.state.clocks if gpu.state else Clocks(),
    )


def _utc(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
