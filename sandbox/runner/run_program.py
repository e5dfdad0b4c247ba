"""Runs a HIP program and passes on its output, piece by piece, as lines on stderr: `o` or `e`, and the bytes in base64.

The sandbox has one stream for a job's output, and it carries lines; a program has two, and prints any bytes.
"""

import base64
import contextlib
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO

PIECE_BYTES = 2048  # a line of base64 stays under the 4096 characters that the sandbox lets through
COULD_NOT_START = 127
LINE_BUFFER = "/usr/libexec/coreutils/libstdbuf.so"  # of stdbuf(1)


def run(command: Sequence[str], *, fed: bool = False) -> int:
    """The program's exit code; 128 + N where signal N ended it, as shells say it. fed: its stdin comes from ours."""
    stdin = subprocess.PIPE if fed else subprocess.DEVNULL
    try:
        pipe = subprocess.PIPE
        environment = line_buffered(os.environ)
        process = subprocess.Popen(command, stdin=stdin, stdout=pipe, stderr=pipe, bufsize=0, env=environment)
    except OSError as error:
        pass_on(b"e", f"{command[0]} cannot be started: {error.strerror}\n".encode())
        pass_on(b"x", b"")
        return COULD_NOT_START
    if process.stdin:
        threading.Thread(target=feed, args=(process.stdin,), daemon=True).start()
    with selectors.DefaultSelector() as selector:
        assert process.stdout is not None
        assert process.stderr is not None
        selector.register(process.stdout, selectors.EVENT_READ, b"o")
        selector.register(process.stderr, selectors.EVENT_READ, b"e")
        while selector.get_map():
            for key, _ in selector.select():
                piece = os.read(key.fd, PIECE_BYTES)
                if piece:
                    pass_on(key.data, piece)
                else:
                    selector.unregister(key.fileobj)
    code = process.wait()
    code = code if code >= 0 else 128 - code
    pass_on(b"x", b"%d" % code)  # what the shell around us says may be its own code
    return code


def line_buffered(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with which a program writes each line of its stdout at once, as to a terminal.

    A pipe's buffer would be lost when the program is killed for its time. Preloading serves programs without HIP too,
    and takes effect before their static objects print. AddressSanitizer must be loaded first unless this option is set.
    """
    changed = dict(environment)
    if not os.path.exists(LINE_BUFFER):
        return changed
    changed["LD_PRELOAD"] = LINE_BUFFER
    changed["_STDBUF_O"] = "L"
    changed.setdefault("ASAN_OPTIONS", "verify_asan_link_order=0")
    return changed


def feed(program: IO[bytes]) -> None:
    """Give the program its input: each line of our stdin is a piece in base64, until the line `.` ends it."""
    with contextlib.suppress(OSError), program:  # a program need not read
        for line in input_lines():
            if line == b".":
                return
            piece = base64.b64decode(line)
            while piece:
                piece = piece[os.write(program.fileno(), piece) :]


def input_lines() -> Iterator[bytes]:
    """The lines of stdin, without sys.stdin: Python crashes at exit while a thread waits in that."""
    rest = b""
    while piece := os.read(0, 1 << 16):
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines


def pass_on(stream: bytes, piece: bytes) -> None:
    """One line on stderr."""
    line = stream + base64.b64encode(piece) + b"\n"
    while line:
        line = line[os.write(2, line) :]


def set_kernel_deadline(seconds: float) -> None:
    """The emulator stops a kernel that is still running after so many seconds, and reports it."""
    end_at_ms = int(1000 * (time.monotonic() + seconds))
    options = os.environ.get("AMDKERNEL_EMULATOR_OPTIONS", "")
    os.environ["AMDKERNEL_EMULATOR_OPTIONS"] = f"{options},end_at_ms={end_at_ms}"


def main() -> None:
    words = sys.argv[1:]
    if words[0].startswith("--end-in="):
        set_kernel_deadline(float(words.pop(0).partition("=")[2]))
    fed = words[0] == "--fed"
    sys.exit(run(words[fed:], fed=fed))


if __name__ == "__main__":
    main()
