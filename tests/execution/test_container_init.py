"""PID 1 of a container: the container ends with its client, with its command and with its time, whatever runs in it.

The jobs here are hostile: each says `ready` once its attack is under way.
"""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from amdkernel_mcp.cancellation import Cancellation, CancelledWorkError
from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.docker import sandbox as docker_sandbox
from amdkernel_mcp.execution.docker.daemon import Daemon, connect
from amdkernel_mcp.execution.docker.ownership import OWNER, PROCESS
from amdkernel_mcp.execution.docker.sandbox import DockerSandbox, PoolSizes
from amdkernel_mcp.execution.gpus import GpuDevice
from amdkernel_mcp.execution.limits import RUN_LIMITS
from amdkernel_mcp.execution.sandbox import Completed, Sandbox
from amdkernel_mcp.work import cancelled_by

if TYPE_CHECKING:
    from docker.models.containers import Container

pytestmark = pytest.mark.sandbox

# A process of its own, which a test kills: sys.argv are the image and the program of the job.
CLIENT = """
import sys
from dataclasses import replace
from amdkernel_mcp.execution.docker import ownership
from amdkernel_mcp.execution.docker.daemon import connect
from amdkernel_mcp.execution.docker.sandbox import DockerSandbox, PoolSizes
from amdkernel_mcp.execution.limits import RUN_LIMITS
ownership._machine = lambda: "a machine that has no reaper"
small = {"memory_bytes": 512 << 20, "work_bytes": 32 << 20, "out_bytes": 32 << 20}
limits = {"run": replace(RUN_LIMITS, cpus=2, processes=48, **small)}
sandbox = DockerSandbox(connect(None), sys.argv[1], limits=limits, pool=PoolSizes(0, 0))
def show(line):
    print(line, flush=True)
sandbox.run("run", ["python3", "-c", sys.argv[2]], {}, timeout_s=900, on_stderr=show)
"""

READY = """
import os, signal, sys, time
def ready(): print("ready", file=sys.stderr, flush=True)
def ignore():
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
"""
# Forks twice, so that PID 1 is the parent, and ignores all that can be ignored.
DAEMON = """
def stay():
    ignore()
    while True: time.sleep(60)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: stay()
    os._exit(0)
os.wait()
"""
DOUBLE_FORK = READY + DAEMON + "ready()\nstay()\n"
FORK_BOMB = (
    READY
    + """
ignore()
said = False
while True:
    try: os.fork()
    except OSError:
        if not said: ready()
        said = True
"""
)
# Every signal that there is, to PID 1, for as long as the job lasts, while PID 1 hardly gets to run.
SIGNALS = (
    READY
    + """
import ctypes
ignore()
libc = ctypes.CDLL(None, use_errno=True)
def attack():
    for number in range(1, 65): libc.kill(1, number)
attack()
param = ctypes.c_int(0)
libc.sched_setscheduler(1, 5, ctypes.byref(param)) # SCHED_IDLE
for which, who in ((0, 1), (1, 1), (1, os.getpgid(1)), (2, os.getuid())): libc.setpriority(which, who, 19)
libc.prlimit(1, 7, (ctypes.c_long * 2)(0, 0), None)
for _ in range(20):
    if os.fork() == 0:
        while True: attack()
ready()
while True: attack()
"""
)
# Both ends of every pipe that it finds are kept open, and all other processes stopped, so that only PID 1 acts.
KEEPS_STDIN = (
    READY
    + """
kept = []
for pid in [name for name in os.listdir("/proc") if name.isdigit()]:
    for number in range(12):
        for mode in (os.O_RDWR, os.O_WRONLY | os.O_NONBLOCK):
            try: kept.append(os.open(f"/proc/{pid}/fd/{number}", mode))
            except OSError: pass
for pid in [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, os.getpid())]:
    os.kill(pid, signal.SIGSTOP)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
assert kept
ready()
while True: time.sleep(60)
"""
)


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    opened = connect(load_settings().docker_host)
    yield opened
    opened.close()


Run = Callable[..., Completed]


@pytest.fixture
def run(sandbox: Sandbox) -> Iterator[Run]:
    """Run Python in a container of its own."""
    opened = DockerSandbox(connect(load_settings().docker_host), sandbox.image_id, pool=PoolSizes(0, 0))
    yield lambda program, **how: opened.run("run", ["python3", "-c", program], {}, **{"timeout_s": 60} | how)
    opened.close()


def container_of(daemon: Daemon, pid: int) -> "Container":
    """The one container of a process, running or not."""
    listed = daemon.client.containers.list(all=True, filters={"label": OWNER}, ignore_removed=True)
    [found] = [each for each in listed if each.labels.get(PROCESS, "").startswith(f"{pid}:")]
    return found


@pytest.mark.parametrize("program", [DOUBLE_FORK, FORK_BOMB, SIGNALS, KEEPS_STDIN])
@pytest.mark.thorough
def test_no_container_outlives_a_killed_client(daemon: Daemon, sandbox: Sandbox, program: str) -> None:
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, sandbox.image_id, program], stdout=subprocess.PIPE, text=True
    )
    assert client.stdout is not None
    assert client.stdout.readline() == "ready\n"
    container = container_of(daemon, client.pid)
    try:
        assert container.status == "running"
        client.send_signal(signal.SIGKILL)
        client.wait()
        client.stdout.close()
        # 0: `timeout` ended the job within the grace, and the shell of the job came to its end.
        assert container.wait(timeout=300)["StatusCode"] in (0, 137)
    finally:
        container.remove(force=True)


def test_signals_from_inside_do_not_end_a_container(run: Run) -> None:
    program = READY + "import ctypes\nlibc = ctypes.CDLL(None)\nfor n in range(1, 65): libc.kill(1, n)\nready()"
    done = run(program)
    assert (done.exit_code, done.stderr) == (0, "ready\n")


def test_pid_1_cannot_be_read_written_or_opened(run: Run) -> None:
    program = """
import os
for name in ("mem", "fd/0", "environ", "oom_score_adj", "cwd", "root"):
    for mode in (os.O_RDONLY, os.O_RDWR):
        try: os.open("/proc/1/" + name, mode); print("opened", name, mode)
        except PermissionError: pass
        except IsADirectoryError: print("opened", name)
print(open("/proc/1/comm").read().strip(), os.stat("/proc/1/fd").st_uid)
"""
    lines = run("import sys; sys.stdout = sys.stderr\n" + program).stderr.splitlines()
    assert lines == ["opened oom_score_adj 0", "init 0"], "its score can be read by all"


def test_orphans_are_reaped(run: Run) -> None:
    program = """
import os, sys, time
for _ in range(100):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
def zombies():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try: found.append(open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0])
        except OSError: pass
    return found.count("Z")
while zombies(): time.sleep(0.05)
print("no zombie", file=sys.stderr)
"""
    assert run(program).stderr == "no zombie\n"


def test_what_a_job_leaves_running_ends_with_it(run: Run) -> None:
    program = READY + DAEMON + "ready()\n"
    done = run(program, timeout_s=60)
    assert (done.exit_code, done.stderr) == (0, "ready\n")


def test_a_job_on_a_gpu_that_is_cancelled_gets_sigterm_first(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """The container gets no device here, only the grace of one that has a GPU."""
    options = docker_sandbox.container_options

    def without_devices(*of: object, user: str, **_: bool) -> dict[str, object]:
        return options(*of[:3], user=user)  # type: ignore[arg-type]

    monkeypatch.setattr(docker_sandbox, "container_options", without_devices)
    gpu = GpuDevice("/dev/dri/renderD128", ())
    opened = DockerSandbox(connect(load_settings().docker_host), sandbox.image_id, gpu=gpu, pool=PoolSizes(0, 0))
    token, lines = Cancellation(), list[str]()

    def on_stderr(line: str) -> None:
        lines.append(line)
        if line == "ready":
            threading.Thread(target=token.cancel).start()

    # No print in the handler: the signal may come while `ready` is still being printed.
    program = READY + "signal.signal(signal.SIGTERM, lambda *_: (os.write(2, b'asked\\n'), os._exit(3)))\n"
    try:
        with cancelled_by(token), pytest.raises(CancelledWorkError):
            opened.run(
                "run",
                ["python3", "-c", program + "ready()\nwhile True: time.sleep(60)"],
                {},
                timeout_s=600,
                on_stderr=on_stderr,
            )
    finally:
        opened.close()
    assert lines[0] == "ready"
    assert set(lines[1:]) == {"asked"}, "`timeout` may pass the signal on as well"


@pytest.mark.thorough
def test_a_job_ends_at_its_time_without_a_client_that_watches(
    sandbox: Sandbox, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client lives and never looks at the clock; the job stops `timeout` and ignores SIGTERM."""
    monkeypatch.setattr(docker_sandbox, "OVERTIME_S", -19.0)
    limits = replace(RUN_LIMITS, cpus=1, memory_bytes=256 << 20, work_bytes=32 << 20, out_bytes=32 << 20, grace_s=1)
    opened = DockerSandbox(daemon, sandbox.image_id, limits={"run": limits}, pool=PoolSizes(0, 0))
    program = READY + (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.kill(os.getppid(), signal.SIGSTOP)\nready()\n"
        "while True: time.sleep(60)"
    )
    try:
        done = opened.run("run", ["python3", "-c", program], {}, timeout_s=5)
        assert (done.exit_code, done.timed_out, done.stderr) == (137, True, "ready\n")
    finally:
        opened.close(keep_daemon=True)


def test_an_image_without_pid_1_runs_nothing(sandbox: Sandbox, daemon: Daemon) -> None:
    empty = daemon.client.images.get(sandbox.image_id).attrs["Parent"]
    opened = DockerSandbox(daemon, str(empty), pool=PoolSizes(0, 0))
    try:
        with pytest.raises(SandboxError, match="cannot be started"):
            opened.run("run", ["true"], {}, timeout_s=60)
    finally:
        opened.close(keep_daemon=True)
