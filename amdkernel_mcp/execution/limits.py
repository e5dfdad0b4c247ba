"""What a sandbox may use: processes, memory, CPUs, bytes; one set for compiling and one for running."""

from dataclasses import dataclass, replace

from amdkernel_mcp.execution.sandbox import SandboxKind

MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True)
class Limits:
    """What one job may use. `grace_s`: the time between SIGTERM and SIGKILL when a job is late."""

    processes: int
    memory_bytes: int
    cpus: float
    file_bytes: int
    work_bytes: int
    out_bytes: int
    scratch_bytes: int
    grace_s: float


COMPILE_LIMITS = Limits(
    processes=128,
    memory_bytes=8 * GIB,
    cpus=2,
    file_bytes=512 * MIB,
    work_bytes=GIB,
    out_bytes=512 * MIB,
    scratch_bytes=512 * MIB,
    grace_s=1,
)
RUN_LIMITS = Limits(
    processes=256,
    memory_bytes=16 * GIB,
    cpus=8,
    file_bytes=GIB,
    work_bytes=2 * GIB,
    out_bytes=GIB,
    scratch_bytes=512 * MIB,
    grace_s=2,
)


def limits_for(kind: SandboxKind, *, memory_bytes: int, cpus: int) -> Limits:
    """The limits of a kind on a machine with this much memory and this many CPUs."""
    limits = RUN_LIMITS if kind == "run" else COMPILE_LIMITS
    memory = min(limits.memory_bytes, memory_bytes * 3 // 4)
    return replace(
        limits,
        memory_bytes=memory,
        cpus=min(limits.cpus, float(cpus)),
        work_bytes=min(limits.work_bytes, memory // 2),
        out_bytes=min(limits.out_bytes, memory // 2),
    )
