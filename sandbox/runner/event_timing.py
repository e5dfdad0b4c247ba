"""Device times of the launches of a case, by HIP events around each launch."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import hip_calls
from guarded_buffer import GuardedBuffer, prepare_all
from hip import hip
from job_plan import Timing
from kernel_launch import BoundLaunch


def time_launches(
    sets: list[tuple[list[GuardedBuffer], list[BoundLaunch]]],
    timing: Timing,
    keep: Callable[[list[GuardedBuffer]], None],
) -> list[list[float]]:
    """Microseconds, per sample and launch. The sets of buffers take turns. Raises HipError.

    `keep` gets the buffers after each sample of `timing.kept`.
    """
    for i in range(timing.warmups):
        prepare_all(sets[i % len(sets)][0])
        for launch in sets[i % len(sets)][1]:
            launch()
    hip_calls.synchronize()
    events = [hip_calls.call(hip.hipEventCreate) for _ in range(len(sets[0][1]) + 1)]
    samples = []
    for i in range(timing.samples):
        samples.append(_sample(*sets[i % len(sets)], events))
        if i in timing.kept:
            keep(sets[i % len(sets)][0])
    for event in events:
        hip_calls.call(hip.hipEventDestroy, event)
    return samples


def _sample(buffers: list[GuardedBuffer], launches: list[BoundLaunch], events: list[Any]) -> list[float]:
    prepare_all(buffers)
    hip_calls.begin_run()
    hip_calls.synchronize()
    hip_calls.call(hip.hipEventRecord, events[0], None)
    for launch, event in zip(launches, events[1:], strict=True):
        launch()
        hip_calls.call(hip.hipEventRecord, event, None)
    hip_calls.call(hip.hipEventSynchronize, events[-1])
    return [1e3 * hip_calls.call(hip.hipEventElapsedTime, start, stop) for start, stop in pairwise(events)]
