"""Inside the container: launches each kernel of launches.json with one thread and with two, in turn.

Prints one JSON line a pair: seconds of CPU and of wall time of both, and how much faster the machine was, just before
and just after, at two processes of bare arithmetic than at one after the other. Where that is less than two, the CPUs
are not two cores to this container: they share one, or others have them.
"""

import ctypes
import json
import math
import multiprocessing
import os
import time
from multiprocessing.connection import Connection
from typing import Any

from launch_kernels import Kernel, anchor, plans

STEPS = 3_000_000
PAIRS = 20
forking = multiprocessing.get_context("fork")  # the library reads its options at its first call, so after it


def seconds_of(processes: int) -> float:
    """Of as many that run at once and share nothing."""
    start = time.perf_counter()
    others = [forking.Process(target=anchor, args=(ctypes.c_long(STEPS),)) for _ in range(processes - 1)]
    for process in others:
        process.start()
    anchor(ctypes.c_long(STEPS))
    for process in others:
        process.join()
    return time.perf_counter() - start


def machine_scaling() -> float:
    return 2 * seconds_of(1) / seconds_of(2)


def serve(asked: Connection, threads: int, plan: dict[str, Any]) -> None:
    os.environ["AMDKERNEL_EMULATOR_OPTIONS"] = f"threads={threads}"
    kernel = Kernel(plan)
    while True:
        asked.send(kernel.timed())
        asked.recv()


def started(threads: int, plan: dict[str, Any]) -> Connection:
    ours, theirs = forking.Pipe()
    forking.Process(target=serve, args=(theirs, threads, plan), daemon=True).start()
    ours.recv()
    return ours


def took(kernel: Connection) -> tuple[float, float]:
    kernel.send("again")
    cpu, wall = kernel.recv()
    return cpu, wall


def main() -> None:
    for name, plan in plans().items():
        if math.prod(plan["grid"]) < 2:
            continue
        one, two = started(1, plan), started(2, plan)
        before = machine_scaling()
        for _ in range(PAIRS):
            pair = {"one": took(one), "two": took(two)}
            after = machine_scaling()
            print(json.dumps({"name": name, **pair, "machine": [before, after]}), flush=True)
            before = after


if __name__ == "__main__":
    main()
