"""Runs a HIP program and tells what it prints, piece by piece, as lines on stderr: `o` or `e`, and the bytes in base64.

The sandbox has one stream for a job's output, and it carries lines; a program has two, and prints what it likes.
"""

import base64
import contextlib
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import IO

PIECE_BYTES = 2048  # a line of base64 stays under the 4096 characters that the sandbox lets through
COULD_NOT_START = 127


def run(command: Sequence[str], *, fed: bool = False) -> int:
    """The program's exit code; 128 + N where signal N ended it, as shells say it. fed: its stdin comes from ours."""
    stdin = subprocess.PIPE if fed else subprocess.DEVNULL
    try:
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    except OSError as error:
        tell(b"e", f"{command[0]} cannot be started: {error.strerror}\n".encode())
        tell(b"x", b"")
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
                    tell(key.data, piece)
                else:
                    selector.unregister(key.fileobj)
    code = process.wait()
    code = code if code >= 0 else 128 - code
    tell(b"x", b"%d" % code)  # what the shell around us says may be its own code
    return code


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
    """The lines of stdin, without sys.stdin: Python ends badly while a thread waits in that."""
    rest = b""
    while piece := os.read(0, 1 << 16):
        *lines, rest = (rest + piece).split(b"\n")
        yield from lines


def tell(stream: bytes, piece: bytes) -> None:
    """One line on stderr."""
    line = stream + base64.b64encode(piece) + b"\n"
    while line:
        line = line[os.write(2, line) :]


def tell_emulator(seconds: float) -> None:
    """In how many seconds a kernel that still runs is to be given up, and told of."""
    end_at_ms = int(1000 * (time.monotonic() + seconds))
    options = os.environ.get("AMDKERNEL_EMULATOR_OPTIONS", "")
    os.environ["AMDKERNEL_EMULATOR_OPTIONS"] = f"{options},end_at_ms={end_at_ms}"


def main() -> None:
    words = sys.argv[1:]
    if words[0].startswith("--end-in="):
        tell_emulator(float(words.pop(0).partition("=")[2]))
    fed = words[0] == "--fed"
    sys.exit(run(words[fed:], fed=fed))


if __name__ == "__main__":
    main()
