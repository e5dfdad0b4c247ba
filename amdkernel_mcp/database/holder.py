"""The process that holds something in the database, by a name from which others on its machine see whether it lives."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def new_holder() -> str:
    """A name that nothing else has: machine since its start, process namespace, process id, start time, a number."""
    with suppress(OSError):
        return f"{_machine()}/{os.getpid()}/{_start_time(os.getpid())}/{os.urandom(4).hex()}"
    return f"unknown//{os.getpid()}/0/{os.urandom(4).hex()}"  # not Linux: its leases end by time alone


def is_dead(holder: str) -> bool:
    """Whether a process of this machine has certainly ended. False where that cannot be known."""
    try:
        boot, namespace, process, started, _ = holder.split("/")
        if f"{boot}/{namespace}" != _machine():
            return False
        return _start_time(int(process)) != started
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False


def _machine() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}/{os.readlink('/proc/self/ns/pid')}"


def _start_time(process: int) -> str:
    """In clock ticks since the machine started: a process id is used again, with another start time."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
