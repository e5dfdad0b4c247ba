"""Inside the container: the gain of a second thread, compared with that of a second process.

Each kernel of launches.json is launched in turn by a process with one thread, by two such processes at once, and by a
process with two threads. Two processes share nothing: with two free cores they do twice the work in the same time, and
with busy cores they show what the machine can give. Prints one JSON line for each turn: seconds of CPU and of wall
time of one thread ("one"), of the two processes ("processes") and of two threads ("two").
"""

import json
import math
import multiprocessing
import os
import time
from multiprocessing.connection import Connection
from typing import Any

from launch_kernels import Kernel, plans

TURNS = 30
forking = multiprocessing.get_context("fork")  # the library reads its options at its first call, so after it


def serve(asked: Connection, threads: int, plan: dict[str, Any]) -> None:
    os.environ["AMDKERNEL_EMULATOR_OPTIONS"] = f"threads={threads}"
    kernel = Kernel(plan)
    while True:
        cpu, _ = kernel.timed()
        asked.send(cpu)
        asked.recv()


def started(threads: int, plan: dict[str, Any]) -> Connection:
    ours, theirs = forking.Pipe()
    forking.Process(target=serve, args=(theirs, threads, plan), daemon=True).start()
    ours.recv()
    return ours


def took(*launching: Connection) -> tuple[float, float]:
    """Seconds of CPU of all, and of wall time until the last is done."""
    start = time.perf_counter()
    for process in launching:
        process.send("again")
    cpu = sum(process.recv() for process in launching)
    return cpu, time.perf_counter() - start


def main() -> None:
    for name, plan in plans().items():
        if math.prod(plan["grid"]) < 2:
            continue
        one, another, two = started(1, plan), started(1, plan), started(2, plan)
        for _ in range(TURNS):
            turn = {"one": took(one), "processes": took(one, another), "two": took(two)}
            print(json.dumps({"name": name, **turn}), flush=True)


if __name__ == "__main__":
    main()
