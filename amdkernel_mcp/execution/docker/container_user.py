"""A user for each container, so that containers do not share what the kernel limits by user.

Such limits are inotify instances, pending signals, pages in pipes, message queues and keys; no cgroup limits them.
The numbers are drawn at random, so that servers that know nothing of each other seldom draw the same: with 100
containers at a time once in 40,000 times. Two that do share these limits, and nothing else.
"""

import secrets
from collections.abc import Mapping
from typing import Any

# Above what systemd gives to containers and services (UIDs and GIDs, "Summary"), below the 2^31 that Docker refuses.
WIDE = range(1_900_000_000, 2_100_000_000)
# Where the daemon has a user namespace of its own, usually with 65,536 numbers: between users and services.
NARROW = range(10_000, 60_000)


def new_user(daemon_info: Mapping[str, Any]) -> str:
    """`UID:GID` for one container. `daemon_info`: `docker info`."""
    options = " ".join(daemon_info.get("SecurityOptions") or ())
    numbers = NARROW if "name=userns" in options or "name=rootless" in options else WIDE
    number = secrets.choice(numbers)
    return f"{number}:{number}"
