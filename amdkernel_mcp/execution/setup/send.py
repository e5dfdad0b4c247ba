"""Sends a file to another machine by ssh, continues it after a cut line, and lets the Docker there import it.

Each piece is written to its place in the file, so what the shell of a lost connection still writes is the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import shlex
import subprocess
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.docker.tunnel import plain_ssh, shell_command

Progress = Callable[[str], None]
FOLDER = ".cache/amdkernel/sent"
"""Below the home of the user there."""
_PIECE = 256 << 10
SAID_EVERY_S = 10.0
_SAID_CHARS = 300
WAITS_S = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Before each further try of a line that carried nothing."""
_ANSWER_S, _IMPORT_S = 60.0, 1800.0
_GZIP = 31  # of zlib's wbits: with gzip's header and sum, which Docker knows


def compressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same as gzip, without a name or a time."""
    packer = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
    for piece in pieces:
        if packed := packer.compress(piece):
            yield packed
    yield packer.flush()


def keep_compressed(pieces: Iterable[bytes], file: Path) -> None:
    """Write them as one gzip file, as a whole or not at all. Raises SandboxError, and theirs."""
    part = file.with_suffix(".part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as packed:
            for piece in compressed(pieces):
                packed.write(piece)
        part.replace(file)
    except OSError as error:
        raise SandboxError(f"the root file system cannot be kept to be sent: {error}") from None
    finally:
        part.unlink(missing_ok=True)


def imports_files(url: str) -> bool:
    """Whether a shell there has Docker's client. Raises SandboxError where no shell opens."""
    return bool(_ask(url, "command -v docker || true"))


def send_and_import(url: str, file: Path, name: str, changes: Sequence[str], progress: Progress) -> None:
    """Make the image `name` on the machine of an ssh URL from a gzip file with a root file system.

    It continues what an earlier call left there. Raises SandboxError.
    """
    total, digest = file.stat().st_size, _digest(file)
    there = f"{FOLDER}/{digest[:32]}.tar.gz"
    _send(url, file, there, total, progress)
    if _ask(url, f"sha256sum {there}").split()[:1] != [digest]:
        _ask(url, f"rm -f {there}")
        raise SandboxError(
            f"what arrived at {url} is not what was sent", hint="run the command again: it sends all of it"
        )
    progress("handing the root file system to Docker there")
    words = ["docker", *_socket(url), "import", *(word for each in changes for word in ("--change", each)), there, name]
    _ask(url, shlex.join(words), timeout_s=_IMPORT_S)
    _ask(url, f"rm -f {there}")


def _send(url: str, file: Path, there: str, total: int, progress: Progress) -> None:
    """Until the file is there as a whole. Raises SandboxError where the line carries nothing any more."""
    size = f"mkdir -p -m 700 {FOLDER} && {{ [ -e {there} ] && stat -c %s {there} || echo 0; }}"
    done, tries, said = int(_ask(url, size) or 0), 0, ""
    while done < total:
        if done:
            progress(f"continuing at {mb(done)} of {mb(total)} MB")
        before = done
        said = _send_from(url, file, there, done, total, progress)
        while True:
            try:
                done = int(_ask(url, size) or 0)
                break
            except SandboxError as error:  # the line is still away
                said = error.message
                tries = _wait(tries, url, done, total, said)
        if done == before:
            tries = _wait(tries, url, done, total, said)
        elif done < total:
            tries = 0
            progress(f"the line was cut: {said or 'ssh ended'}")


def _wait(tries: int, url: str, done: int, total: int, said: str) -> int:
    if tries == len(WAITS_S):
        raise SandboxError(
            f"the line to {url} carries nothing any more, at {mb(done)} of {mb(total)} MB: {said or 'ssh ended'}",
            hint="run the command again: it continues there",
        )
    time.sleep(WAITS_S[tries])
    return tries + 1


def _send_from(url: str, file: Path, there: str, start: int, total: int, progress: Progress) -> str:
    """Send the rest of the file until the line ends. Returns what ssh says then."""
    write = f"dd of={there} bs=64k seek={start} oflag=seek_bytes iflag=fullblock conv=notrunc status=none"
    began = last = time.monotonic()
    sent = 0
    with file.open("rb") as content, _shell(url, write) as ssh:
        assert ssh.stdin is not None
        assert ssh.stderr is not None
        content.seek(start)
        try:
            while piece := content.read(_PIECE):
                ssh.stdin.write(piece)
                sent += len(piece)
                if (now := time.monotonic()) - last >= SAID_EVERY_S:
                    last, rate = now, sent / (now - began)
                    left_s = (total - start - sent) / rate
                    progress(f"sent {mb(start + sent)} of {mb(total)} MB, {rate / 1e6:.1f} MB/s, {left_s:.0f} s left")
            ssh.stdin.close()
        except BrokenPipeError:
            with contextlib.suppress(BrokenPipeError):
                ssh.stdin.close()
        said = ssh.stderr.read().decode(errors="replace").strip()[-_SAID_CHARS:]
    seconds = max(time.monotonic() - began, 0.001)
    progress(f"sent {mb(start + sent)} of {mb(total)} MB, {sent / seconds / 1e6:.1f} MB/s")
    return said


def _ask(url: str, script: str, *, timeout_s: float = _ANSWER_S) -> str:
    """What a script prints there. Raises SandboxError with what it says on stderr."""
    with _shell(url, script) as ssh:
        try:
            printed, said = ssh.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            ssh.kill()
            raise SandboxError(f"{url} does not answer within {timeout_s:g} s") from None
    if ssh.returncode:
        message = said.decode(errors="replace").strip()[-_SAID_CHARS:] or f"exit code {ssh.returncode}"
        raise SandboxError(f"{url}: {message}", hint=f"try `{plain_ssh(url)} true`")
    return printed.decode(errors="replace").strip()


def _shell(url: str, script: str) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*shell_command(url), "sh", "-c", shlex.quote(script)], stdin=pipe, stdout=pipe, stderr=pipe
    )


def _socket(url: str) -> list[str]:
    """The option of Docker's client for a URL that names a socket."""
    path = urlsplit(url).path
    return ["--host", f"unix://{path}"] if len(path) > 1 else []


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def mb(count: int) -> str:
    """Bytes as a number of MB."""
    return f"{count / 1e6:.0f}"
