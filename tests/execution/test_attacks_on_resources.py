"""What a job may not use up: processes, memory, disk, inodes, the reader's patience."""

import time

import pytest

from amdkernel_mcp.execution.docker.sandbox import STDERR_LIMIT_BYTES, DockerSandbox
from tests.execution.conftest import CRAMPED, Attack
from tests.waiting import AT_MOST_S

pytestmark = pytest.mark.sandbox


def test_a_fork_bomb_ends_inside_its_container(attack: Attack) -> None:
    done = attack(
        """
import os, sys, time
children = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(4711)
        children += 1
except BlockingIOError:
    print("stopped after", children)
"""
    )
    assert done.stderr.startswith("stopped after"), done
    assert int(done.stderr.split()[-1]) < CRAMPED.processes
    assert not done.timed_out, "the children held the job up"


def test_a_memory_hog_is_killed_and_reported_as_such(attack: Attack) -> None:
    done = attack("hog = []\nwhile True: hog.append(b'x' * (1 << 20))")
    assert done.out_of_memory
    assert done.exit_code == 137


def test_files_in_memory_count_as_memory(attack: Attack) -> None:
    # tmpfs that a job could mount itself, or memfd, would get round the limit of the folders.
    done = attack(
        """
import os
f = os.memfd_create("hog"); g = os.memfd_create("hog2")
for _ in range(400):
    for fd in [f, g] + [os.memfd_create("x")]:
        os.write(fd, b"x" * (1 << 20))
print("ESCAPED")
"""
    )
    assert "ESCAPED" not in done.stderr
    assert done.out_of_memory or done.exit_code != 0


@pytest.mark.parametrize("folder", ["/sandbox/work", "/tmp", "/sandbox/out", "/dev/shm"])
def test_no_folder_takes_more_than_its_size(attack: Attack, folder: str) -> None:
    done = attack(
        f"""
import errno, os
written = 0
for number in range(1000):
    try:
        with open(f"{folder}/{{number}}", "wb", buffering=0) as file:
            for _ in range(8):
                written += file.write(b"x" * (1 << 20))
    except OSError as error:
        print(errno.errorcode[error.errno], written >> 20)
        break
os.system("rm -rf {folder}/*")
"""
    )
    reason, mib = done.stderr.split()[:2]
    assert reason == "ENOSPC"
    assert int(mib) <= 64


def test_no_file_grows_past_its_limit(attack: Attack) -> None:
    done = attack("import os; f = os.open('/sandbox/work/f', os.O_CREAT | os.O_RDWR); os.ftruncate(f, 1 << 40)")
    assert done.exit_code != 0


def test_inodes_run_out_for_the_job_only(attack: Attack) -> None:
    done = attack(
        """
import errno
try:
    for number in range(100000):
        open(f"/tmp/{number}", "w").close()
except OSError as error:
    print(errno.errorcode[error.errno], number)
"""
    )
    reason, number = done.stderr.split()
    assert (reason, int(number) < 8192) == ("ENOSPC", True)


def test_the_root_file_system_cannot_be_written(attack: Attack) -> None:
    done = attack("import os\nfor p in ('/', '/usr', '/var/tmp', '/run', '/home'):\n  print(os.access(p, os.W_OK))")
    assert done.stderr.split() == ["False"] * 5


def test_a_log_bomb_is_cut_and_ended(cramped: DockerSandbox) -> None:
    done = cramped.run("compile", ["yes", "a line of a log bomb"], {}, timeout_s=60)
    assert done.truncated
    assert len(done.stderr) < STDERR_LIMIT_BYTES / 50
    assert "bytes left out" in done.stderr
    assert not done.timed_out, "it ran on though its output was thrown away"


def test_a_job_that_ignores_sigterm_is_killed(attack: Attack) -> None:
    done = attack("import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(4711)", timeout_s=0.5)
    assert done.timed_out


@pytest.mark.thorough
def test_sigterm_comes_first_so_that_a_gpu_can_be_let_go(attack: Attack) -> None:
    done = attack(
        """
import signal, sys, time
def last_words(*_):
    print("let go"); sys.exit()
signal.signal(signal.SIGTERM, last_words)
time.sleep(60)
""",
        timeout_s=5,
    )
    assert (done.timed_out, done.stderr) == (True, "let go\n")


def test_a_daemonised_child_dies_with_the_container(cramped: DockerSandbox) -> None:
    program = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        os.closerange(0, 3)
        time.sleep(4711)
"""
    done = cramped.run("compile", ["python3", "-c", program], {}, timeout_s=60)
    assert done.exit_code == 0
    assert not done.timed_out, "the job ends with its command, not with its last child"
    deadline = time.monotonic() + AT_MOST_S
    while _sleepers() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert _sleepers() == []


def _sleepers() -> list[str]:
    """Processes of this machine that are that child: the daemon is local in these tests."""
    from pathlib import Path

    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"time.sleep(4711)" in file.read_bytes() and b"closerange" in file.read_bytes():
                found.append(file.parent.name)
        except OSError:
            continue
    return found
