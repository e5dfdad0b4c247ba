"""A Docker daemon of our own, which a test may kill: its data, its state and its socket are in a temporary folder."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import AT_MOST_S

# A daemon without a bridge removes docker0, which is the other daemon's: so it gets a network namespace of its own.
ALONE = ["unshare", "--net", "--"]
NO_NETWORK = ["--bridge=none", "--iptables=false", "--ip6tables=false"]


class SecondDocker:
    """The daemon; `url` is its address."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.url = f"unix://{folder}/docker.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, or start it again; returns when it answers."""
        folder = self._folder
        for left in ("pid", "exec/containerd/containerd.pid"):  # of a killed one, whose process may still be listed
            (folder / left).unlink(missing_ok=True)
        own = ["-H", self.url, "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "-p", f"{folder}/pid"]
        with (folder / "log").open("ab") as log:
            self._process = subprocess.Popen([*ALONE, "dockerd", *own, *NO_NETWORK], stdout=log, stderr=log)
        deadline = time.monotonic() + AT_MOST_S
        while subprocess.run(["docker", "-H", self.url, "info"], capture_output=True, check=False).returncode:
            assert time.monotonic() < deadline, (folder / "log").read_text()[-2000:]
            time.sleep(0.2)

    def kill(self) -> None:
        """End the daemon at once; what runs in its containers continues."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order, with its containers."""
        self._end(signal.SIGTERM)

    def load(self, image: str) -> None:
        """Copy an image of the machine's daemon."""
        with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as saved:
            subprocess.run(["docker", "-H", self.url, "load"], stdin=saved.stdout, check=True, capture_output=True)

    def _end(self, number: signal.Signals) -> None:
        if self._process and self._process.poll() is None:
            self._process.send_signal(number)
            self._process.wait(120)


@contextmanager
def second_docker() -> Iterator[SecondDocker]:
    """A daemon that runs, and is stopped at the end."""
    folder = Path(tempfile.mkdtemp(prefix="docker-", dir="/tmp"))
    daemon = SecondDocker(folder)
    try:
        daemon.start()
        yield daemon
    finally:
        daemon.stop()
        _end_what_a_kill_left(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _end_what_a_kill_left(folder: Path) -> None:
    """The helpers of its containers, which the next daemon does not always take over, and their mounts."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{folder}/exec".encode() in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for mount in reversed([each for each in mounts if each.startswith(f"{folder}/")]):
        subprocess.run(["umount", "-l", mount], check=False, capture_output=True)
