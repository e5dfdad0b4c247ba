"""The fallback without containers: a subprocess with resource limits, of an unprivileged user. `isolation: none`.

It stops accidents, not attacks: the job may use the network and read the files that its user may read.
"""

import contextlib
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.bare.toolchain import rocm_environment
from amdkernel_mcp.execution.gpus import GpuDevice
from amdkernel_mcp.execution.head_and_tail import HeadAndTail
from amdkernel_mcp.execution.limits import COMPILE_LIMITS, RUN_LIMITS, Limits
from amdkernel_mcp.execution.sandbox import ENVIRONMENT, MAX_DEPTH, MAX_MEMBERS, Completed, SandboxKind
from amdkernel_mcp.execution.stdin_stream import StdinStream
from amdkernel_mcp.results.job_answer import Isolation
from amdkernel_mcp.work import current_work

IN_IMAGE = "/opt/amdkernel"
# As root each running job gets a user id of its own out of these, so that all its processes can be found and killed.
PUMP_PERIOD_S = 0.2
USER_IDS = range(65500, 65532)


class BareSandbox:
    """Implements `Sandbox` with subprocesses. `runtime` holds what the image has in /opt/amdkernel. Thread-safe."""

    isolation: Isolation = "none"

    def __init__(self, runtime: Path, rocm_path: Path, gpu: GpuDevice | None = None) -> None:
        """`gpu`: the one that runs see; None: no run is meant for a GPU."""
        self._gpu = gpu
        self.image_id = f"none:{runtime.name}"
        self._runtime = runtime
        self._rocm_path = rocm_path
        self._free_ids = list(USER_IDS)
        self._freed = threading.Condition()
        user = USER_IDS[0] if os.geteuid() == 0 else None
        if not _can(user, "-r", runtime / "toolchain"):
            raise SandboxError(
                f"jobs run as user {user or os.geteuid()}, and that one cannot read {runtime}",
                hint="run as an ordinary user, or set AMDKERNEL_DATA_DIR to a folder that all may read",
            )
        python = Path(sys.executable)  # the one that has NumPy; root's own may be closed to others
        self._search = [str(python.parent)] if _can(user, "-x", python) else []
        self._search += [f"{rocm_path}/bin", ENVIRONMENT["PATH"]]

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
        limits = RUN_LIMITS if kind == "run" else COMPILE_LIMITS
        folder = Path(tempfile.mkdtemp(prefix="amdkernel-job-"))
        user = self._borrow_user()
        try:
            work, out = _lay_out(folder, files, user)
            words = [word.replace(IN_IMAGE, str(self._runtime)) for word in command]
            started = time.monotonic()
            device = self._gpu if kind == "run" else None
            has_stdin = stdin_stream is not None
            limited = _limited(words, limits, user, has_gpu=device is not None)
            process = self._start(limited, work, out, user, device, has_stdin=has_stdin)
            try:
                if stdin_stream:
                    threading.Thread(target=_pump, args=(stdin_stream, process), daemon=True).start()
                with current_work().cancellation.ending_with(lambda: _signal_group(process, signal.SIGKILL)):
                    said, timed_out = _watch(process, HeadAndTail(on_stderr), timeout_s, limits.grace_s)
            finally:
                _end(process, user)
            outputs, complete = read_folder(out, output_limit_bytes)
        finally:
            self._give_back(user)
            shutil.rmtree(folder, ignore_errors=True)
        return Completed(
            exit_code=process.returncode if process.returncode >= 0 else 128 - process.returncode,
            files=outputs,
            stderr=said.text(),
            timed_out=timed_out,
            out_of_memory=False,
            truncated=said.cut or not complete,
            seconds=time.monotonic() - started,
            stderr_cut=said.cut,
        )

    def is_connected(self) -> bool:
        """See `Sandbox.is_connected`."""
        return True

    def close(self) -> None:
        """Nothing is kept between jobs."""

    def _start(
        self, command: list[str], work: Path, out: Path, user: int | None, gpu: GpuDevice | None, *, has_stdin: bool
    ) -> "subprocess.Popen[bytes]":
        environment = {name: value.replace(IN_IMAGE, str(self._runtime)) for name, value in ENVIRONMENT.items()}
        environment |= {"OUT": str(out), "HOME": str(work), "TMPDIR": str(work)} | rocm_environment(self._rocm_path)
        environment["AMDKERNEL_COMPILE_HOME"] = f"{self._runtime}/compile"
        environment["PATH"] = ":".join(self._search)
        if gpu:  # no container keeps the job from the others: HIP's device 0 would be the first GPU of the machine
            environment["ROCR_VISIBLE_DEVICES"] = gpu.visible
        try:
            return subprocess.Popen(
                command,
                cwd=work,
                env=environment,
                stdin=subprocess.PIPE if has_stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=user,
                group=user,
                extra_groups=None if user is None else list(gpu.host_gids if gpu else ()),
            )
        except OSError as error:
            raise SandboxError(f"{command[0]} cannot be started: {error.strerror}") from None

    def _borrow_user(self) -> int | None:
        if os.geteuid() != 0:
            return None
        with self._freed:
            self._freed.wait_for(lambda: self._free_ids)
            return self._free_ids.pop()

    def _give_back(self, user: int | None) -> None:
        if user is not None:
            with self._freed:
                self._free_ids.append(user)
                self._freed.notify()


def _can(user: int | None, test: str, path: Path) -> bool:
    """What test(1) says about a path when that user runs it."""
    extra_groups: list[int] | None = None if user is None else []
    asked = subprocess.run(
        ["/usr/bin/test", test, str(path)], cwd="/", user=user, group=user, extra_groups=extra_groups, check=False
    )
    return asked.returncode == 0


def _pump(stdin_stream: StdinStream, process: "subprocess.Popen[bytes]") -> None:
    """Copy `stdin_stream` to the process until either ends."""
    assert process.stdin is not None
    with contextlib.suppress(OSError), process.stdin as pipe:
        pipe.write(stdin_stream.begin())
        pipe.flush()
        while stdin_stream.descriptor is not None and process.poll() is None:
            if select.select([stdin_stream.descriptor], [], [], PUMP_PERIOD_S)[0]:
                pipe.write(stdin_stream.take())
                pipe.flush()


def read_folder(folder: Path, limit_bytes: int) -> tuple[dict[str, bytes], bool]:
    """The regular files below `folder`, and whether it held nothing else."""
    files: dict[str, bytes] = {}
    complete, room = True, limit_bytes
    for path in _walk(folder):
        # The job may have left a link to a file of ours, or a FIFO that never answers.
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            complete = False
            continue
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            name = str(path.relative_to(folder))
            plain = stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and name.isprintable()
            if not plain or status.st_size > room or len(files) >= MAX_MEMBERS:
                complete = False
                continue
            files[name] = file.read(status.st_size)
            room -= len(files[name])
    return files, complete


def _walk(folder: Path, depth: int = 0) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if depth < MAX_DEPTH:
                    yield from _walk(Path(entry.path), depth + 1)
            else:
                yield Path(entry.path)


def _lay_out(folder: Path, files: Mapping[str, bytes], user: int | None) -> tuple[Path, Path]:
    folder.chmod(0o755)
    work, out = folder / "work", folder / "out"
    work.mkdir()
    out.mkdir()
    for name, content in files.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755)
    if user is not None:
        for path in (work, out, *work.rglob("*")):
            os.chown(path, user, user)
    return work, out


def _limited(command: Sequence[str], limits: Limits, user: int | None, *, has_gpu: bool) -> list[str]:
    """The command under prlimit(1). The number of processes is bounded per user, so only where the job has its own.

    With a GPU the address space is not bounded: AMD's runtime has an address here for each byte of the GPU's memory in
    use, and reserves up to 1 TiB for some GPUs. Source: ROCR-Runtime, libhsakmt/src/fmm.c, init_svm_apertures.
    """
    options = ["--core=0", "--nofile=1024", f"--fsize={limits.file_bytes}"]
    options += [] if has_gpu else [f"--as={4 * limits.memory_bytes}"]
    options += [f"--nproc={limits.processes}"] if user is not None else []
    return ["prlimit", *options, "--", *command]


def _watch(
    process: "subprocess.Popen[bytes]", said: HeadAndTail, timeout_s: float, grace_s: float
) -> tuple[HeadAndTail, bool]:
    """What the process printed until it ended, and whether it was late; at the deadline SIGTERM, then SIGKILL."""
    assert process.stdout is not None
    deadline, late = time.monotonic() + timeout_s, False
    while process.poll() is None:
        readable, _, _ = select.select([process.stdout], [], [], 0.02)
        if readable:
            said.add(os.read(process.stdout.fileno(), 1 << 16))
        if time.monotonic() > deadline:
            _signal_group(process, signal.SIGKILL if late else signal.SIGTERM)
            deadline, late = time.monotonic() + grace_s, True
    while select.select([process.stdout], [], [], 0)[0] and (data := os.read(process.stdout.fileno(), 1 << 16)):
        said.add(data)
    return said, late


def _end(process: "subprocess.Popen[bytes]", user: int | None) -> None:
    """Kill what the job left running, where it can be found."""
    _signal_group(process, signal.SIGKILL)
    if process.stdout:
        process.stdout.close()
    if user is not None:
        # As that user, so that it cannot hit any other process.
        subprocess.run(["/bin/sh", "-c", "kill -KILL -1"], user=user, group=user, extra_groups=[], check=False)
    process.wait()


def _signal_group(process: "subprocess.Popen[bytes]", number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return
