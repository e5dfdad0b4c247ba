"""A stream whose launches begin when all of them are enqueued, so that events show the GPU's time and not the host's.

The launches of a sample are one HIP graph: Python enqueues it with one call. The stream waits at a gate, a value in
memory, until the graph and both events are enqueued. Where the device has no such wait, or a call of the runtime waits
for the stream, the gate stays open, and `filled` says so.

A stream waits for any memory that both sides see. ROCm's clr lets a kernel of its own read the value until it is there,
and refuses signal memory on some devices that say they can wait (gfx1151 with ROCm 7 and 10 was reported).
"""

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import hip_calls
from hip import hip
from kernel_launch import BoundLaunch

OPENS_AFTER_S = 10.0
"""A gate that is not opened by then opens by itself: enqueueing takes milliseconds, so a call waits for it."""


class LaunchQueue:
    """`filled`: whether every sample so far was enqueued as a whole before its first event. Raises HipError."""

    def __init__(self) -> None:
        self._stream = hip_calls.call(hip.hipStreamCreateWithFlags, hip.hipStreamNonBlocking)
        self._events = [hip_calls.call(hip.hipEventCreate) for _ in range(2)]
        self._graphs: dict[Any, Any] = {}
        self._passed = 0
        self._late: threading.Timer | None = None
        attribute = hip.hipDeviceAttribute_t.hipDeviceAttributeCanUseStreamWaitValue
        can_wait = hip_calls.call(hip.hipDeviceGetAttribute, attribute, 0)
        gate: tuple[int, Any] = _gate() if can_wait else (0, None)
        self._gate, self._free_gate = gate
        self.filled = bool(self._gate)

    def sample_us(self, key: Any, launches: Sequence[BoundLaunch]) -> float:
        """The time from before the first launch to after the last one. The same key, the same launches."""
        if key not in self._graphs:
            self._graphs[key] = self._recorded(launches)
        hip_calls.synchronize()
        graph = self._graphs[key]
        if self.filled:
            self._close_gate()
        try:
            return self._between(lambda: hip_calls.call(hip.hipGraphLaunch, graph, self._stream))
        finally:
            self._open()  # for a call that failed on the way

    def work_us(self, launches: Sequence[BoundLaunch]) -> float:
        """The time of launches that are enqueued one by one."""

        def enqueue() -> None:
            for launch in launches:
                launch(self._stream)

        return self._between(enqueue)

    def close(self) -> None:
        """Give everything back."""
        for graph in self._graphs.values():
            hip_calls.call(hip.hipGraphExecDestroy, graph)
        for event in self._events:
            hip_calls.call(hip.hipEventDestroy, event)
        hip_calls.call(hip.hipStreamDestroy, self._stream)
        if self._gate:
            hip_calls.call(self._free_gate, self._gate)

    def _recorded(self, launches: Sequence[BoundLaunch]) -> Any:
        """The launches as a graph that can be launched, on the device already."""
        hip_calls.call(
            hip.hipStreamBeginCapture, self._stream, hip.hipStreamCaptureMode.hipStreamCaptureModeThreadLocal
        )
        for launch in launches:
            launch(self._stream)
        graph = hip_calls.call(hip.hipStreamEndCapture, self._stream)
        ready = hip_calls.call(hip.hipGraphInstantiateWithFlags, graph, 0)
        hip_calls.call(hip.hipGraphDestroy, graph)
        hip_calls.call(hip.hipGraphUpload, ready, self._stream)
        return ready

    def _between(self, enqueue: Callable[[], None]) -> float:
        first, last = self._events
        hip_calls.call(hip.hipEventRecord, first, self._stream)
        enqueue()
        hip_calls.call(hip.hipEventRecord, last, self._stream)
        self._open()
        hip_calls.call(hip.hipEventSynchronize, last)
        return 1e3 * float(hip_calls.call(hip.hipEventElapsedTime, first, last))

    def _close_gate(self) -> None:
        self._passed += 1
        self._late = threading.Timer(OPENS_AFTER_S, self._open_late)
        self._late.daemon = True
        self._late.start()
        try:
            hip_calls.call(
                hip.hipStreamWaitValue32, self._stream, self._gate, self._passed, hip.hipStreamWaitValueGte, 0xFFFFFFFF
            )
        except hip_calls.HipError:  # of a device that said it could
            self._open()
            self.filled = False

    def _open(self) -> None:
        if self._late:
            self._late.cancel()
            self._late = None
            ctypes.c_uint32.from_address(self._gate).value = self._passed

    def _open_late(self) -> None:
        self.filled = False
        ctypes.c_uint32.from_address(self._gate).value = self._passed


def _gate() -> tuple[int, Any]:
    """Memory that a stream can wait for and the host can write, which holds 0, and what frees it; 0: there is none.

    Source: HIP's documentation of hipStreamWaitValue32 and hipHostMalloc.
    """
    ways = (
        (hip.hipExtMallocWithFlags, hip.hipMallocSignalMemory, hip.hipFree),
        (hip.hipHostMalloc, hip.hipHostMallocMapped | hip.hipHostMallocCoherent, hip.hipHostFree),
    )
    for allocate, flags, free in ways:
        try:
            address = int(hip_calls.call(allocate, 8, flags))
        except hip_calls.HipError:
            continue
        ctypes.c_uint64.from_address(address).value = 0
        return address, free
    return 0, None
