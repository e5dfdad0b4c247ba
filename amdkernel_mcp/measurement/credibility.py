"""Whether a speed-up can be believed: minimum of the work, roof of the memory, and the gates of 10x and 50x.

Pure. A large speed-up is possible where the baseline is far from what the GPU can do, and only there. So it needs a
proof: the outputs of the timed runs are right (the engine judges them before anything comes here), the kernel moved the
bytes that the problem requires, and no time lies above the memory's roof.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from amdkernel_mcp.counted import counted
from amdkernel_mcp.hardware.specs import Gpu
from amdkernel_mcp.measurement.counters import CaseRun, Footprint
from amdkernel_mcp.measurement.roofline import LINE_BYTES
from amdkernel_mcp.results.kernels import BenchmarkVerdict

SUSPICIOUS_SPEEDUP = 10.0
IMPOSSIBLE_SPEEDUP = 50.0


@dataclass(frozen=True)
class Doubt:
    """Why a result is not what its number says: the verdict that follows, a flag and a sentence."""

    verdict: BenchmarkVerdict
    flag: str
    sentence: str


def stores_too_little(run: CaseRun) -> Doubt | None:
    """Outputs that are right although fewer bytes were stored than they have. Emulated runs only."""
    stored = sum(dispatch.count("bytes_stored") for dispatch in run.dispatches)
    if not run.dispatches or stored >= run.minimum.write_bytes:
        return None
    return Doubt(
        "invalid",
        "below_minimum",
        f"case {run.case}: the kernel stored {counted(round(stored), 'byte')} and the outputs have"
        f" {run.minimum.write_bytes}: not all of the work was done in this run",
    )


def reads_too_little(run: CaseRun, baseline: CaseRun) -> str | None:
    """A kernel that read less than the inputs have, and less than the baseline did. Emulated runs only.

    What neither of the two read is not required: rows behind a length, for instance.
    """
    read, other = _bytes_read(run), _bytes_read(baseline)
    inputs = _required(run, baseline).read_bytes
    if not run.dispatches or read >= min(inputs, other):
        return None
    return (
        f"case {run.case}: the kernel read {counted(round(read), 'byte')}, the inputs have {inputs} that are needed and"
        f" the baseline read {other:.0f}"
    )


def _required(run: CaseRun, baseline: CaseRun | None) -> Footprint:
    """The bytes that the work cannot avoid, without inputs that no launch of both kernels loaded.

    They are counted and not compared byte by byte: the outputs are judged.
    """
    unread = min(run.unread_bytes, baseline.unread_bytes) if baseline else run.unread_bytes
    return Footprint(run.minimum.read_bytes - unread, run.minimum.write_bytes)


def _bytes_read(run: CaseRun) -> float:
    return sum(each.count("bytes_loaded") + each.count("scalar_bytes_loaded") for each in run.dispatches)


def minimum_us(work: Footprint, gpu: Gpu) -> float | None:
    """The shortest time for moving these bytes; None where they fit into the caches, which may be faster, and for a GPU
    whose memory is not known."""
    if not gpu.has_roofs or work.total_bytes <= gpu.last_level_cache_bytes:
        return None
    return work.total_bytes / (gpu.memory_gbps * 1e3)


def fastest_us(work: Footprint, gpu: Gpu) -> float:
    """A time that no kernel goes below: from the caches where the bytes fit there, else from memory."""
    if (least_us := minimum_us(work, gpu)) is not None:
        return least_us
    l2_gbps = (gpu.l2_channels or 0) * LINE_BYTES * gpu.clock_mhz / 1e3
    return work.total_bytes / (max(l2_gbps, gpu.mall_gbps or 0.0, gpu.memory_gbps) * 1e3)


def above_roof(
    run: CaseRun, time_us: float, gpu: Gpu, *, baseline_us: float | None, baseline: CaseRun | None = None
) -> Doubt | None:
    """A time that is shorter than the memory requires.

    A problem may leave parts of its inputs unread: on the emulator these are known; where the baseline is faster than
    that too, only outputs count.
    """
    least_us = minimum_us(_required(run, baseline), gpu)
    if least_us is not None and baseline_us is not None and baseline_us < least_us:
        least_us = minimum_us(Footprint(0, run.minimum.write_bytes), gpu)
    if least_us is None or time_us >= least_us:
        return None
    moved = _required(run, baseline).total_bytes
    return Doubt(
        "invalid",
        "above_roof",
        f"case {run.case}: {counted(moved, 'byte')} in {time_us:.1f} us is {moved / time_us / 1e3:.0f} GB/s, but the "
        f"memory of {gpu.name} does {gpu.memory_gbps:.0f}: not all of the work was done",
    )


def too_good(
    speedup: float,
    runs: Sequence[CaseRun],
    baseline: Sequence[CaseRun],
    times_us: Sequence[tuple[float, float]],
    gpu: Gpu,
) -> Doubt | str | None:
    """For a speed-up over 10: the doubt that remains, or the proof as a sentence; None for a smaller one.

    times_us: (candidate, baseline) of each case.
    """
    if speedup <= SUSPICIOUS_SPEEDUP:
        return None
    missing = _not_proved(runs, baseline, times_us, gpu)
    if missing is None:
        return (
            f"over {SUSPICIOUS_SPEEDUP:g}x is believed because the outputs of the timed runs are right, the kernel "
            "moved the bytes that the problem requires, and the baseline is that far from the GPU's limits"
        )
    if speedup > IMPOSSIBLE_SPEEDUP:
        return Doubt("invalid", "suspicious", f"{speedup:.0f} times as fast is not credible: {missing}")
    return Doubt(
        "inconclusive", "suspicious", f"{speedup:.1f} times as fast is not believed without a proof: {missing}"
    )


def _not_proved(
    runs: Sequence[CaseRun], baseline: Sequence[CaseRun], times_us: Sequence[tuple[float, float]], gpu: Gpu
) -> str | None:
    if not gpu.has_roofs:
        return f"how fast the memory of {gpu.name} is, is not known"
    for run, other, (time_us, baseline_us) in zip(runs, baseline, times_us, strict=True):
        if missing := reads_too_little(run, other):
            return missing
        required = _required(run, other)
        if not required.total_bytes:
            return f"case {run.case}: it is not known how many bytes must be moved"
        least_us = fastest_us(required, gpu)
        if time_us < least_us:
            return (
                f"case {run.case}: the baseline takes {baseline_us / least_us:.1f} times as long as the fastest way to "
                f"move the {required.total_bytes} bytes of its arrays, which does not explain the ratio"
            )
    return None
