"""Each container has a user of its own, so that what the kernel limits by user is not shared."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from amdkernel_mcp.execution.docker.container_user import NARROW, WIDE, new_user
from amdkernel_mcp.execution.sandbox import Sandbox

LIMIT = 40
PROCESSES = f"""
import os, resource, signal, sys, time
resource.setrlimit(resource.RLIMIT_NPROC, ({LIMIT}, resource.getrlimit(resource.RLIMIT_NPROC)[1]))
def one_more():
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
"""
SIGNALS = f"""
import ctypes, os, resource, signal, sys, time
resource.setrlimit(resource.RLIMIT_SIGPENDING, ({LIMIT}, resource.getrlimit(resource.RLIMIT_SIGPENDING)[1]))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
libc = ctypes.CDLL(None, use_errno=True)
def one_more():
    if libc.sigqueue(os.getpid(), int(signal.SIGRTMIN), None):
        raise OSError(ctypes.get_errno(), "sigqueue")
"""
FILL = """
got = 0
try:
    while got < 1000:
        one_more()
        got += 1
except OSError:
    pass
print("got", got, flush=True)
time.sleep(float(sys.argv[1]))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.kill(-1, signal.SIGTERM)
"""


@pytest.mark.thorough
@pytest.mark.sandbox
@pytest.mark.parametrize("resource", [PROCESSES, SIGNALS], ids=["processes", "pending signals"])
def test_a_container_at_a_limit_of_its_user_does_not_stop_another(sandbox: Sandbox, resource: str) -> None:
    full = threading.Event()

    def fill(seconds: float) -> int:
        done = sandbox.run(
            "run", ["python3", "-c", resource + FILL, str(seconds)], {}, timeout_s=60, on_stderr=lambda _: full.set()
        )
        return int(done.stderr.split()[1])

    with ThreadPoolExecutor(1) as beside:
        first = beside.submit(fill, 8)
        assert full.wait(60)
        second = fill(0)
        assert not first.done(), "the first had ended before the second was begun"
        assert first.result() > LIMIT / 2
    assert second > LIMIT / 2


def test_two_containers_have_two_users_who_are_no_users_of_the_host() -> None:
    drawn = [new_user({}) for _ in range(50)]
    assert len(set(drawn)) == 50
    uid, gid = (int(part) for part in drawn[0].split(":"))
    assert uid == gid
    assert uid in WIDE


@pytest.mark.parametrize("option", ["name=rootless", "name=userns"])
def test_a_daemon_with_a_user_namespace_gets_numbers_that_it_has(option: str) -> None:
    uid = int(new_user({"SecurityOptions": ["name=seccomp,profile=builtin", option]}).split(":")[0])
    assert uid in NARROW
    assert uid < 65536
