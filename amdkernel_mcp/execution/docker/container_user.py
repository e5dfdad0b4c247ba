"""A user for each container, so that containers do not share what the kernel limits by user.

Such limits are inotify instances, pending signals, pages in pipes, message queues and keys; no cgroup limits them.
The numbers are drawn at random, so that servers that know nothing of each other seldom draw the same: with 100
containers at a time once in 40,000 times. Two that do share these limits, and nothing else.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

# Above what systemd gives to containers and services (UIDs and GIDs, "Summary"), below the 2^31 that Docker refuses.
WIDE = range(1_900_000_000, 2_100_000_000)
# Where the daemon has a user namespace of its own, usually with 65,536 numbers: between users and services.
NARROW = range(10_000, 60_000)


def how_users_are_mapped(daemon_info: Mapping[str, Any]) -> str | None:
    """What a daemon does that has a user namespace of its own, in words; None: the groups of the host are its own.

    Its containers have no group of the host, and so none that may open a device node. Source: Docker documentation,
    "Rootless mode" and "Isolate containers with a user namespace"; `docker info`, SecurityOptions.
    """
    options = " ".join(map(str, daemon_info.get("SecurityOptions") or ()))
    if "name=rootless" in options:
        return "runs without root"
    return "maps users (userns-remap)" if "name=userns" in options else None


def new_user(daemon_info: Mapping[str, Any]) -> str:
    """`UID:GID` for one container. `daemon_info`: `docker info`."""
    numbers = NARROW if how_users_are_mapped(daemon_info) else WIDE
    number = secrets.choice(numbers)
    return f"{number}:{number}"
