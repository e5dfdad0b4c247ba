"""Device times of the launches of a case, by HIP events around each launch."""

from itertools import pairwise
from typing import Any

import hip_calls
from guarded_buffer import GuardedBuffer
from hip import hip
from job_plan import Timing
from kernel_launch import BoundLaunch


def time_launches(sets: list[tuple[list[GuardedBuffer], list[BoundLaunch]]], timing: Timing) -> list[list[float]]:
    """Microseconds, per sample and launch. The sets of buffers take turns. Raises HipError."""
    for i in range(timing.warmups):
        _restore(sets[i % len(sets)][0])
        for launch in sets[i % len(sets)][1]:
            launch()
    hip_calls.synchronize()
    events = [hip_calls.call(hip.hipEventCreate) for _ in range(len(sets[0][1]) + 1)]
    samples = [_sample(*sets[i % len(sets)], events) for i in range(timing.samples)]
    for event in events:
        hip_calls.call(hip.hipEventDestroy, event)
    return samples


def _sample(buffers: list[GuardedBuffer], launches: list[BoundLaunch], events: list[Any]) -> list[float]:
    _restore(buffers)
    hip_calls.synchronize()
    hip_calls.call(hip.hipEventRecord, events[0], None)
    for launch, event in zip(launches, events[1:], strict=True):
        launch()
        hip_calls.call(hip.hipEventRecord, event, None)
    hip_calls.call(hip.hipEventSynchronize, events[-1])
    return [1e3 * hip_calls.call(hip.hipEventElapsedTime, start, stop) for start, stop in pairwise(events)]


def _restore(buffers: list[GuardedBuffer]) -> None:
    """Every sample starts from the same data, also where kernels work in place."""
    for buffer in buffers:
        if buffer.buffer.role == "inout":
            buffer.restore()
