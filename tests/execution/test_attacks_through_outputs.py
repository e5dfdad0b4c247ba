"""What a job may leave in its output folder, and what of it comes back: regular files, nothing else."""

import pytest

from amdkernel_mcp.execution.docker.sandbox import DockerSandbox
from amdkernel_mcp.execution.sandbox import MAX_MEMBERS
from tests.execution.conftest import Attack

pytestmark = pytest.mark.sandbox


def test_links_fifos_sockets_and_hard_links_do_not_come_back(attack: Attack) -> None:
    done = attack(
        """
import os, socket
os.chdir(os.environ["OUT"])
open("good", "w").write("good")
os.symlink("/etc/passwd", "link")
os.symlink("../../../../etc", "folder")
os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("socket")
os.link("good", "again")
"""
    )
    assert done.exit_code == 0
    assert set(done.files) <= {"good", "again"}
    assert b"good" in done.files.values()
    assert b"root:" not in b"".join(done.files.values())
    assert done.truncated, "it must be said that something was left out"


def test_odd_names_do_not_come_back(attack: Attack) -> None:
    done = attack(
        r"""
import os
os.chdir(os.environ["OUT"])
for name in (b"new\nline", b"\x1b[31mred", b"not utf-8 \xff", b"x" * 255, b"good"):
    open(name, "w").write("x")
deep = "/".join(["d"] * 60)
os.makedirs(deep)
open(deep + "/f", "w").write("x")
"""
    )
    assert set(done.files) == {"good", "x" * 255}
    assert done.truncated


def test_a_sparse_file_costs_no_more_than_the_limit(cramped: DockerSandbox) -> None:
    program = "import os; f = open(os.environ['OUT'] + '/sparse', 'wb'); f.truncate(30 << 20)"
    done = cramped.run("compile", ["python3", "-c", program], {}, timeout_s=60, output_limit_bytes=1 << 20)
    assert done.truncated
    assert sum(map(len, done.files.values())) <= 1 << 20


def test_more_files_than_are_read_are_cut(attack: Attack) -> None:
    done = attack("import os\nfor i in range(17_000): open(f\"{os.environ['OUT']}/{i}\", 'w').close()")
    assert len(done.files) <= MAX_MEMBERS
    assert "No space left on device" in done.stderr


def test_as_many_files_come_back_as_the_largest_check_has(attack: Attack) -> None:
    count = 256 * 3 * 4  # cases, seeds, and files of each
    done = attack(f"import os\nfor i in range({count}): open(f\"{{os.environ['OUT']}}/{{i}}\", 'w').close()")
    assert (len(done.files), done.exit_code, done.truncated) == (count, 0, False)


def test_a_job_that_writes_its_own_archive_gets_nothing_past_the_reader(cramped: DockerSandbox) -> None:
    # Same user id: it can find the pipe of the result in the process that waits for it.
    program = r"""
import os, tarfile, io
def member(name, kind, **more):
    m = tarfile.TarInfo(name); m.type = kind
    for k, v in more.items(): setattr(m, k, v)
    return m
b = io.BytesIO()
with tarfile.open(fileobj=b, mode="w", format=tarfile.PAX_FORMAT) as t:
    t.addfile(member("../../escape", tarfile.REGTYPE, size=1), io.BytesIO(b"x"))
    t.addfile(member("/etc/cron.d/x", tarfile.REGTYPE, size=1), io.BytesIO(b"x"))
    t.addfile(member("device", tarfile.CHRTYPE, devmajor=1, devminor=3))
    t.addfile(member("link", tarfile.SYMTYPE, linkname="/etc/shadow"))
    t.addfile(member("hard", tarfile.LNKTYPE, linkname="/etc/shadow"))
    t.addfile(member("s", b"S", size=0))
    huge = member("huge", tarfile.REGTYPE, size=1 << 40).tobuf(tarfile.GNU_FORMAT)
    b.write(huge)
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    for fd in range(16):
        try:
            if "pipe" in os.readlink(f"/proc/{pid}/fd/{fd}"):
                os.write(os.open(f"/proc/{pid}/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK), b.getvalue())
        except OSError:
            pass
"""
    done = cramped.run("compile", ["python3", "-c", program], {}, timeout_s=60)
    assert done.files == {}
    assert done.truncated
