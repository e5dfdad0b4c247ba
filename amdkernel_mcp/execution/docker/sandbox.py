"""The sandbox in Docker: one container per job, taken warm from a pool and destroyed afterwards."""

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amdkernel_mcp import tracing
from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.docker.archive import pack, unpack
from amdkernel_mcp.execution.docker.container import OUT, WORK, container_options
from amdkernel_mcp.execution.docker.container_user import new_user
from amdkernel_mcp.execution.docker.daemon import Daemon, docker_errors
from amdkernel_mcp.execution.docker.ending import LostContainerError, ending_of_running, ending_of_stopped
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
from amdkernel_mcp.work import current_work

if TYPE_CHECKING:
    from docker.models.containers import Container

# stderr is cut to head and tail; past this the job is a log bomb and is ended.
STDERR_LIMIT_BYTES = 16 << 20
# Tar headers and padding of as many members as are read, besides the outputs themselves.
ARCHIVE_OVERHEAD_BYTES = 4 << 20
# For moving the data and for the shell around the command, on a busy machine.
TRANSFER_ALLOWANCE_S = 20.0
# After a job's deadline its container ends by itself, also where no word of its client comes through any more.
OVERTIME_S = 10.0
# For Docker to come back after it was restarted.
RESTART_S = 30.0
# Of a container that is removed from outside before it has started.
STARTS = 4


@dataclass(frozen=True)
class PoolSizes:
    """How many containers of each kind wait for work."""

    compile: int = 1
    run: int = 1
    torch: int = 1  # once one was asked for
    triton: int = 1  # the same
    look: int = 1  # the same


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
        find_torch: Callable[[], str] | None = None,
        find_triton: Callable[[], str] | None = None,
    ) -> None:
        """`find_torch`, `find_triton`: the id of the image with it, asked for when a job needs it; ToolchainError."""
        self.image_id = image_id
        self._daemon = daemon
        self._gpu = gpu
        self._background = Background()
        memory, cpus = int(daemon.info["MemTotal"]), int(daemon.info["NCPU"])
        pool = pool or PoolSizes()
        self._limits: dict[SandboxKind, Limits] = {
            kind: (limits or {}).get(kind) or limits_for(kind, memory_bytes=memory, cpus=cpus)
            for kind in ("compile", "torch", "triton", "run", "look")
        }
        self._pools: dict[SandboxKind, WarmPool] = {
            "compile": WarmPool(lambda: self._start("compile"), self._background, size=pool.compile),
            "torch": WarmPool(lambda: self._start("torch"), self._background, size=pool.torch),
            "triton": WarmPool(lambda: self._start("triton"), self._background, size=pool.triton),
            "run": WarmPool(lambda: self._start("run"), self._background, size=pool.run),
            "look": WarmPool(lambda: self._start("look"), self._background, size=pool.look),
        }
        self._finders: dict[SandboxKind, Callable[[], str] | None] = {"torch": find_torch, "triton": find_triton}
        self._closed = threading.Event()
        threading.Thread(target=self._reap_now_and_then, daemon=True, name="reaper").start()

    def warm_up(self) -> None:
        """Start the containers that nearly every call needs in the background."""
        for kind in ("compile", "run"):
            self._pools[kind].fill()

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
        """See `Sandbox.run`. A job whose container was lost is run once more, where nothing was read from its stdin."""

        def run() -> Completed:
            with tracing.span("sandbox run", kind=kind):
                return self._run(
                    kind,
                    command,
                    files,
                    timeout_s=timeout_s,
                    output_limit_bytes=output_limit_bytes,
                    on_stderr=on_stderr,
                    stdin_stream=stdin_stream,
                )

        try:
            return run()
        except LostContainerError:
            if stdin_stream is not None or not self._answers_again():
                raise
        return run()

    def _answers_again(self) -> bool:
        """Whether the daemon answers, for which a restart of Docker has RESTART_S."""
        until = time.monotonic() + RESTART_S
        while not self._closed.is_set() and self._daemon.is_connected():
            current_work().cancellation.check()
            with contextlib.suppress(SandboxError):
                self._daemon.ping()
                return True
            if time.monotonic() > until:
                break
            self._closed.wait(0.5)
        return False

    def _run(
        self,
        kind: SandboxKind,
        command: Sequence[str],
        files: Mapping[str, bytes],
        *,
        timeout_s: float,
        output_limit_bytes: int,
        on_stderr: Callable[[str], None] | None,
        stdin_stream: StdinStream | None,
    ) -> Completed:
        if self._closed.is_set():
            raise SandboxError("the sandbox is closed")
        cancellation = current_work().cancellation
        cancellation.check()
        started = time.monotonic()
        archive, token = pack(files), secrets.token_hex(16)
        grace_s = self._gpu.grace_s if self._gpu and kind == "run" else self._limits[kind].grace_s
        kill_after_s = self._gpu.grace_s if self._gpu and kind == "run" else 0.0
        allowed_s = timeout_s + grace_s + TRANSFER_ALLOWANCE_S + len(archive) / 20e6
        script = job_script(
            command,
            tar_bytes=len(archive),
            timeout_s=timeout_s,
            lifetime_s=allowed_s + OVERTIME_S,
            grace_s=grace_s,
            token=token,
            work=WORK,
            out=OUT,
            has_stdin=stdin_stream is not None,
        )
        pool = self._pools[kind]
        warm = pool.take()
        try:
            with cancellation.ending_with(lambda: warm.end(kill_after_s)):
                received = warm.stream.exchange(
                    script + archive + (stdin_stream.begin() if stdin_stream else b""),
                    deadline=time.monotonic() + allowed_s,
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

    def is_connected(self) -> bool:
        """See `Sandbox.is_connected`."""
        return self._daemon.is_connected()

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
        """A container that waits for its job. One that is removed before it has started is made again."""
        for _ in range(STARTS - 1):
            with contextlib.suppress(_GoneError):
                return self._start_once(kind)
        return self._start_once(kind)

    def _start_once(self, kind: SandboxKind) -> WarmContainer:
        import docker.errors

        gpu = self._gpu if kind == "run" else None
        self._daemon.ping()
        labels, user = ownership_labels(kind), new_user(self._daemon.info)
        limits, looks = self._limits[kind], kind == "look"
        options = container_options(self._image_of(kind), limits, labels, gpu, user=user, looks=looks)
        with docker_errors("a sandbox container cannot be started"):
            container = self._daemon.client.containers.create(**options)
            stream = None
            try:
                stream = self._daemon.attach(str(container.id))
                container.start()
            except BaseException as error:
                if stream:
                    stream.close()
                if self._daemon.answers():
                    if isinstance(error, docker.errors.NotFound | SandboxError) and not self._is_there(container):
                        raise _GoneError("a sandbox container was removed before it had started") from None
                    with contextlib.suppress(SandboxError):  # the first error says what is wrong
                        remove(container)
                raise
        return WarmContainer(container, stream, self._daemon.answers)

    @staticmethod
    def _is_there(container: "Container") -> bool:
        import docker.errors

        try:
            container.reload()
        except docker.errors.NotFound:
            return False
        return True

    def _image_of(self, kind: SandboxKind) -> str:
        if kind not in self._finders:
            return self.image_id
        find = self._finders[kind]
        if find is None:
            raise SandboxError(f"this sandbox was opened without an image for {kind}")
        return find()

    def _ending(self, warm: WarmContainer, received: Received, token: str) -> Ending:
        """How the job ended: as its last line says, else as Docker reports it. Raises SandboxError."""
        if ending := read_ending(bytes(received.stdout[-LAST_LINE_BYTES:]), token):
            return ending
        if received.ended:
            return ending_of_stopped(self._daemon, warm.container)
        return ending_of_running(warm.container)

    def _reap_now_and_then(self) -> None:
        ended: set[str] = set()
        while not self._closed.is_set() and self._daemon.is_connected():
            with contextlib.suppress(SandboxError):  # the daemon is gone; it may come back
                if self._daemon.answers():
                    reap(self._daemon, ended)
            self._closed.wait(PERIOD_S)


class _GoneError(SandboxError):
    """A container that was made is no longer there."""


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
        stderr_cut=received.stderr.cut,
    )
