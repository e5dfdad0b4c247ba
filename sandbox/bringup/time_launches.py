"""Measures launches on the GPU of this container and writes $OUT/launches.json; under a profiler it only launches.

Next to it lies launches.co, of launches.hip. Words: none, or `exec` or `fork` to launch in a child process. Times in
us: of the host's clock (wall), or between HIP events. No number is judged here.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from hip import hip

LAUNCHES, SINGLES, COPY_BYTES = 1000, 30, 16 << 20


def call(function: Any, *arguments: Any) -> Any:
    """What a HIP function returns besides its error, which ends the program."""
    error, *values = function(*arguments)
    if int(error):
        sys.exit(f"{function.__name__}: {hip.hipGetErrorName(error)[1]}")
    return values[0] if values else None


def launch(function: Any, stream: Any = None) -> None:
    """One workgroup of one wave."""
    call(hip.hipModuleLaunchKernel, function, 1, 1, 1, 64, 1, 1, 0, stream, None, None)


def wall_us(began: float) -> float:
    """Since then."""
    return 1e6 * (time.perf_counter() - began)


def events_us(function: Any, count: int) -> float:
    """Of `count` launches between two events."""
    first, last = (call(hip.hipEventCreate) for _ in range(2))
    call(hip.hipEventRecord, first, None)
    for _ in range(count):
        launch(function)
    call(hip.hipEventRecord, last, None)
    call(hip.hipEventSynchronize, last)
    return 1e3 * float(call(hip.hipEventElapsedTime, first, last))


def graph_us(function: Any, count: int) -> float:
    """Of `count` launches that are one graph, which was launched once before."""
    stream = call(hip.hipStreamCreateWithFlags, hip.hipStreamNonBlocking)
    call(hip.hipStreamBeginCapture, stream, hip.hipStreamCaptureMode.hipStreamCaptureModeThreadLocal)
    for _ in range(count):
        launch(function, stream)
    ready = call(hip.hipGraphInstantiateWithFlags, call(hip.hipStreamEndCapture, stream), 0)
    first, last = (call(hip.hipEventCreate) for _ in range(2))
    call(hip.hipGraphLaunch, ready, stream)
    call(hip.hipEventRecord, first, stream)
    call(hip.hipGraphLaunch, ready, stream)
    call(hip.hipEventRecord, last, stream)
    call(hip.hipEventSynchronize, last)
    return 1e3 * float(call(hip.hipEventElapsedTime, first, last))


def copies() -> dict[str, float]:
    """Bytes per us from the host and back, pageable memory."""
    host, device = bytearray(COPY_BYTES), call(hip.hipMalloc, COPY_BYTES)
    found = {}
    for name, kind, both in (
        ("to_device", hip.hipMemcpyKind.hipMemcpyHostToDevice, (device, host)),
        ("to_host", hip.hipMemcpyKind.hipMemcpyDeviceToHost, (host, device)),
    ):
        began = time.perf_counter()
        call(hip.hipMemcpy, *both, COPY_BYTES, kind)
        found[name] = COPY_BYTES / wall_us(began)
    call(hip.hipFree, device)
    return found


def measure() -> dict[str, object]:
    """All times."""
    began = time.perf_counter()
    call(hip.hipInit, 0)
    count = call(hip.hipGetDeviceCount)
    started_us = wall_us(began)
    began = time.perf_counter()
    module = call(hip.hipModuleLoadData, Path(__file__).with_name("launches.co").read_bytes())
    nothing, waits = (call(hip.hipModuleGetFunction, module, name) for name in (b"nothing", b"waits"))
    loaded_us = wall_us(began)
    launch(nothing)
    call(hip.hipDeviceSynchronize)
    began = time.perf_counter()
    for _ in range(LAUNCHES):
        launch(nothing)
    issued_us = wall_us(began)
    call(hip.hipDeviceSynchronize)
    singles = [events_us(waits, 1) for _ in range(SINGLES)]
    began = time.perf_counter()
    together = events_us(waits, SINGLES)
    return {
        "devices": count,
        "start_us": started_us,
        "load_us": loaded_us,
        "launch_us": issued_us / LAUNCHES,
        "done_us": wall_us(began) / SINGLES,
        "empty_event_us": events_us(nothing, LAUNCHES) / LAUNCHES,
        "single_us": singles,
        "together_us": together / SINGLES,
        "graph_us": graph_us(waits, SINGLES) / SINGLES,
        "waits_for_values": call(
            hip.hipDeviceGetAttribute, hip.hipDeviceAttribute_t.hipDeviceAttributeCanUseStreamWaitValue, 0
        ),
        "copies_bytes_per_us": copies(),
    }


def main(word: str = "") -> None:
    """Measure, here or in a child."""
    if word == "exec":
        sys.exit(subprocess.run([sys.executable, "-s", __file__], check=False).returncode)
    if word == "fork":
        child = os.fork()
        if child:
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    answer = json.dumps(measure())
    Path(os.environ["OUT"], "launches.json").write_text(answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
