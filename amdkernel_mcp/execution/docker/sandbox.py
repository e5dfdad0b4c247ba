"""The sandbox in Docker: one container per job, taken warm from a pool and destroyed afterwards."""

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.docker.archive import pack, unpack
from amdkernel_mcp.execution.docker.container import OUT, WORK, container_options
from amdkernel_mcp.execution.docker.daemon import Daemon, docker_errors
from amdkernel_mcp.execution.docker.ending import ending_of_running, ending_of_stopped
from amdkernel_mcp.execution.docker.job_script import LAST_LINE_BYTES, Ending, job_script, read_ending
from amdkernel_mcp.execution.docker.ownership import ownership_labels
from amdkernel_mcp.execution.docker.pool import Background, WarmContainer, WarmPool
from amdkernel_mcp.execution.docker.reaper import PERIOD_S, reap, remove
from amdkernel_mcp.execution.docker.stream import Received
from amdkernel_mcp.execution.gpus import GpuDevice
from amdkernel_mcp.execution.limits import Limits, limits_for
from amdkernel_mcp.execution.sandbox import Completed, SandboxKind
from amdkernel_mcp.execution.stdin_stream import StdinStream
from amdkernel_mcp.results.job_answer import Isolation

# stderr is cut to head and tail; past this the job is a log bomb and is ended.
STDERR_LIMIT_BYTES = 16 << 20
# Tar headers and padding of as many members as are read, besides the outputs themselves.
ARCHIVE_OVERHEAD_BYTES = 4 << 20
# For moving the data and for the shell around the command, on a busy machine.
TRANSFER_ALLOWANCE_S = 20.0


@dataclass(frozen=True)
class PoolSizes:
    """How many containers of each kind wait for work."""

    compile: int = 2
    run: int = 1


class DockerSandbox:
    """Implements `Sandbox` on a daemon and an image. Thread-safe."""

    isolation: Isolation = "docker"

    def __init__(
        self,
        daemon: Daemon,
        image_id: str,
        *,
        gpu: GpuDevice | None = None,
        limits: Mapping[SandboxKind, Limits] | None = None,
        pool: PoolSizes | None = None,
    ) -> None:
        self.image_id = image_id
        self._daemon = daemon
        self._gpu = gpu
        self._background = Background()
        memory, cpus = int(daemon.info["MemTotal"]), int(daemon.info["NCPU"])
        pool = pool or PoolSizes()
        self._limits: dict[SandboxKind, Limits] = {
            kind: (limits or {}).get(kind) or limits_for(kind, memory_bytes=memory, cpus=cpus)
            for kind in ("compile", "run")
        }
        self._pools: dict[SandboxKind, WarmPool] = {
            "compile": WarmPool(lambda: self._start("compile"), self._background, size=pool.compile),
            "run": WarmPool(lambda: self._start("run"), self._background, size=pool.run),
        }
        self._closed = threading.Event()
        threading.Thread(target=self._reap_now_and_then, daemon=True, name="reaper").start()

    def warm_up(self) -> None:
        """Start the containers of the pools in the background."""
        for pool in self._pools.values():
            pool.fill()

    def run(
        self,
        kind: SandboxKind,
        command: Sequence[str],
        files: Mapping[str, bytes],
        *,
        timeout_s: float,
        output_limit_bytes: int = 256 << 20,
        on_stderr: Callable[[str], None] | None = None,
        stdin_stream: StdinStream | None = None,
    ) -> Completed:
        """See `Sandbox.run`."""
        if self._closed.is_set():
            raise SandboxError("the sandbox is closed")
        started = time.monotonic()
        archive, token = pack(files), secrets.token_hex(16)
        grace_s = self._gpu.grace_s if self._gpu and kind == "run" else self._limits[kind].grace_s
        script = job_script(
            command,
            tar_bytes=len(archive),
            timeout_s=timeout_s,
            grace_s=grace_s,
            token=token,
            work=WORK,
            out=OUT,
            has_stdin=stdin_stream is not None,
        )
        pool = self._pools[kind]
        warm = pool.take()
        try:
            received = warm.stream.exchange(
                script + archive + (stdin_stream.begin() if stdin_stream else b""),
                deadline=time.monotonic() + timeout_s + grace_s + TRANSFER_ALLOWANCE_S + len(archive) / 20e6,
                stdout_limit=output_limit_bytes + ARCHIVE_OVERHEAD_BYTES,
                stderr_limit=STDERR_LIMIT_BYTES,
                finished=lambda stdout: read_ending(bytes(stdout[-LAST_LINE_BYTES:]), token) is not None,
                stderr_mark=token.encode(),
                on_line=on_stderr,
                stdin_stream=stdin_stream,
            )
            ending = self._ending(warm, received, token)
        finally:
            pool.destroy(warm)
        return _completed(received, ending, seconds=time.monotonic() - started, timeout_s=timeout_s)

    def close(self, *, keep_daemon: bool = False) -> None:
        """Remove every container that this object started, and close the daemon's connections."""
        if self._closed.is_set():
            return
        self._closed.set()
        for pool in self._pools.values():
            pool.close()
        self._background.close()
        if not keep_daemon:
            self._daemon.close()

    def _start(self, kind: SandboxKind) -> WarmContainer:
        gpu = self._gpu if kind == "run" else None
        options = container_options(self.image_id, self._limits[kind], ownership_labels(kind), gpu)
        with docker_errors("a sandbox container cannot be started"):
            container = self._daemon.client.containers.create(**options)
            stream = None
            try:
                stream = self._daemon.attach(str(container.id))
                container.start()
            except BaseException:
                if stream:
                    stream.close()
                remove(container)
                raise
        return WarmContainer(container, stream)

    def _ending(self, warm: WarmContainer, received: Received, token: str) -> Ending:
        """How the job ended: as its last line says, else as Docker reports it. Raises SandboxError."""
        if ending := read_ending(bytes(received.stdout[-LAST_LINE_BYTES:]), token):
            return ending
        if received.ended:
            return ending_of_stopped(self._daemon, warm.container)
        return ending_of_running(warm.container)

    def _reap_now_and_then(self) -> None:
        while not self._closed.is_set():
            try:
                reap(self._daemon)
            except SandboxError:
                return  # the daemon is gone; the next job says so
            self._closed.wait(PERIOD_S)


def _completed(received: Received, ending: Ending, *, seconds: float, timeout_s: float) -> Completed:
    contents = unpack(received.stdout)
    stopped_by_timeout = ending.exit_code in (124, 137) and seconds >= timeout_s  # what timeout(1) reports
    return Completed(
        exit_code=ending.exit_code,
        files=contents.files,
        stderr=received.stderr.text(),
        timed_out=received.late or stopped_by_timeout,
        out_of_memory=ending.out_of_memory,
        truncated=received.too_much or received.stderr.cut or not contents.complete,
        seconds=seconds,
    )
