"""The shell program that a warm container gets for its one job, and the last line that the program prints.

stdin: the job's files as a tar. stdout: the output folder as a tar, then the last line. stderr: what the
command prints. By hand: an image need only have a shell and sandbox/image/init.c, its PID 1, which ends the job when
the client goes away or its time is over.
"""

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

LAST_LINE_BYTES = 64

_SCRIPT = """\
exec 3<&0
trap : TERM
cd {work} && head -c {tar_bytes} <&3 | tar -xf - 3<&- || exit 125
{prepare}
timeout -k {grace} {timeout} {command} <{stdin} 1>&2 3<&-
status=$?
printf '%s' {token} >&2
oom=
[ $status = 0 ] || oom=$(sed -n 's/^oom_kill //p' {memory_events} 2>/dev/null)
cd {out} && tar -cf - --format=gnu . <&- 2>/dev/null
printf '%s %d %d\\n' {token} $status ${{oom:-0}}
"""
# fd 3 is the job's stdin and fd 1 the pipe of the result: the command gets neither.
# `trap :` keeps the shell alive when PID 1 sends SIGTERM to all, and is undone in the command.
# A job with a stdin stream reads what comes after its files through fd 5, a pipe that is open at both ends, so that
# neither side waits for the other. Its `cat` ends with the container.
# The token on stderr marks the end of stderr.

_STDIN = "mkfifo .stdin && exec 5<>.stdin && rm .stdin || exit 125; cat <&3 >&5 2>/dev/null &"
_MEMORY_EVENTS = "/sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control"  # cgroup v2, v1


@dataclass(frozen=True)
class Ending:
    """What the program's last line says."""

    exit_code: int
    out_of_memory: bool


def job_script(
    command: Sequence[str],
    *,
    tar_bytes: int,
    timeout_s: float,
    lifetime_s: float,
    grace_s: float,
    token: str,
    work: str,
    out: str,
    has_stdin: bool = False,
) -> bytes:
    """The program, preceded by the line that the waiting container reads: the seconds it may live, and the length.

    has_stdin: what comes after the files is the command's stdin, see stdin_stream.py.
    """
    program = _SCRIPT.format(
        work=work,
        out=out,
        tar_bytes=tar_bytes,
        prepare=_STDIN if has_stdin else ":",
        stdin="&5 5<&-" if has_stdin else "/dev/null",
        grace=f"{grace_s:.3f}",
        timeout=f"{timeout_s:.3f}",
        command=shlex.join(command),
        memory_events=_MEMORY_EVENTS,
        token=token,
    ).encode()
    return b"%d %d\n%s" % (math.ceil(lifetime_s), len(program), program)


def read_ending(tail: bytes, token: str) -> Ending | None:
    """What the last line says; None when `tail` does not end with it."""
    found = re.search(rb"%s (\d+) (\d+)\n\Z" % token.encode(), tail)
    return Ending(exit_code=int(found[1]), out_of_memory=int(found[2]) > 0) if found else None
