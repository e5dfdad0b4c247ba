"""What a job may not ask of the kernel: network, other processes, other namespaces, more rights."""

import textwrap

import pytest

from tests.execution.conftest import Attack

pytestmark = pytest.mark.sandbox

# Each line of `tries` must fail; the name of what succeeded is printed.
_TRY_ALL = """
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def syscall(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "denied")
for line in {tries!r}:
    try:
        exec(line)
    except OSError as error:
        if error.errno == errno.EFAULT:
            print("NOT DENIED, only badly called:", line)
        continue
    print("ALLOWED:", line)
print("tried", len({tries!r}))
"""


def _assert_all_denied(attack: Attack, tries: str) -> None:
    lines = [line for line in textwrap.dedent(tries).strip().splitlines() if line]
    done = attack(_TRY_ALL.format(tries=lines))
    assert done.stderr == f"tried {len(lines)}\n", done.stderr


def test_no_network_of_any_family_can_be_reached(attack: Attack) -> None:
    _assert_all_denied(
        attack,
        """
        socket.create_connection(("1.1.1.1", 53), timeout=2)
        socket.create_connection(("169.254.169.254", 80), timeout=2)
        socket.create_connection(("172.17.0.1", 2375), timeout=2)
        socket.create_connection(("127.0.0.1", 1), timeout=2)
        socket.getaddrinfo("example.com", 80)
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
        socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)
        socket.socket(38)
        """,
    )


def test_there_is_no_socket_of_the_docker_daemon(attack: Attack) -> None:
    done = attack("import os; print([p for p in ('/var/run/docker.sock', '/run/docker.sock') if os.path.exists(p)])")
    assert done.stderr == "[]\n"


def test_dangerous_system_calls_are_denied(attack: Attack) -> None:
    _assert_all_denied(
        attack,
        """
        syscall(101, 0, 0, 0, 0)
        syscall(310, os.getpid(), 0, 0, 0, 0, 0)
        syscall(311, os.getpid(), 0, 0, 0, 0, 0)
        syscall(165, b"none", b"/tmp", b"tmpfs", 0, 0)
        syscall(166, b"/tmp", 0)
        syscall(155, b"/", b"/tmp")
        syscall(161, b"/tmp")
        syscall(272, 0x10000000)
        syscall(56, 0x10000000 | 17, 0, 0, 0, 0)
        syscall(308, 0, 0)
        syscall(321, 0, ctypes.create_string_buffer(128), 128)
        syscall(298, ctypes.create_string_buffer(128), 0, -1, -1, 0)
        syscall(425, 8, ctypes.create_string_buffer(128))
        syscall(426, 0, 0, 0, 0, 0, 0)
        syscall(427, 0, 0, 0, 0)
        syscall(323, 0)
        syscall(438, 0, 0, 0)
        syscall(250, 0, -1, 1)
        syscall(248, b"user", b"x", b"y", 1, -1)
        syscall(246, 0, 0, 0, 0)
        syscall(175, 0, 0, b"")
        syscall(313, 0, b"", 0)
        syscall(169, 0xFEE1DEAD, 672274793, 0x89ABCDEF, 0)
        syscall(303, -100, b"/", 0, 0, 0)
        syscall(447, 0)
        syscall(312, os.getpid(), os.getpid(), 0, 0, 0)
        """,
    )


def test_nothing_gives_a_job_more_rights(attack: Attack) -> None:
    _assert_all_denied(
        attack,
        """
        os.setuid(0)
        os.setgid(0)
        os.setgroups([0])
        os.chown("/tmp", 0, 0)
        os.mknod("/tmp/null", 0o20666, os.makedev(1, 3))
        os.open("/dev/mem", os.O_RDONLY)
        os.open("/dev/kmsg", os.O_RDONLY)
        open("/proc/sys/kernel/core_pattern", "w")
        open("/proc/sysrq-trigger", "w")
        open("/proc/kcore", "rb")
        open("/sys/kernel/uevent_helper", "w")
        open("/sys/fs/cgroup/memory.max", "w")
        open("/sys/fs/cgroup/memory/memory.limit_in_bytes", "w")
        open("/etc/shadow")
        open("/usr/bin/x", "w")
        open("/opt/amdkernel/x", "w")
        """,
    )
    status = attack("print([l for l in open('/proc/self/status') if l.startswith(('Cap', 'NoNewPrivs', 'Seccomp:'))])")
    assert "CapEff:\\t0000000000000000" in status.stderr
    assert "CapBnd:\\t0000000000000000" in status.stderr
    assert "NoNewPrivs:\\t1" in status.stderr
    assert "Seccomp:\\t2" in status.stderr


def test_the_image_has_no_setuid_file(attack: Attack) -> None:
    done = attack("import os; os.system('find / -xdev -type f -perm /6000 2>/dev/null')")
    assert done.stderr.strip() == ""


def test_a_job_sees_no_process_but_its_own(attack: Attack) -> None:
    done = attack("import os; print(len([p for p in os.listdir('/proc') if p.isdigit()]))")
    assert int(done.stderr) < 10


def test_nothing_of_the_host_stands_in_the_sandbox(attack: Attack) -> None:
    done = attack(
        "import os, socket; print(socket.gethostname(), sorted(os.environ)); print(open('/proc/self/mountinfo').read())"
    )
    names = done.stderr.splitlines()[0]
    assert names.startswith("sandbox ")
    assert not {"AMDKERNEL_TOKENS", "DOCKER_HOST", "SSH_AUTH_SOCK"} & set(names.split("'"))
    mounts = [line.split()[3:5] for line in done.stderr.splitlines()[1:] if line]
    from_host = [point for root, point in mounts if point in ("/sandbox/work", "/sandbox/out", "/tmp") and root != "/"]
    assert from_host == [], "a folder of the host is mounted"
