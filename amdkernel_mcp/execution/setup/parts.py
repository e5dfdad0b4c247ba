"""Sends a root file system to a daemon that is reached by its API alone, in parts, and continues after a cut line.

Docker's import is one request. So the files go in parts into a container that never starts: its name says how many
arrived, and the container becomes the image. A part that was cut is sent again as a whole.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import re
import shutil
import tarfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.docker.daemon import Daemon, docker_errors
from amdkernel_mcp.execution.setup.send import SAID_EVERY_S, WAITS_S, Progress, mb

if TYPE_CHECKING:
    from docker.models.containers import Container

SENDING = "amdkernel-sending"
PART_BYTES = 24 << 20
"""Of files, before compression: about 8 MB on the line."""
_PIECE = 256 << 10


def keep_parts(pieces: Iterable[bytes], folder: Path) -> None:
    """Write a tar as compressed tars of some of its files each, all of them or none. Raises SandboxError, and theirs.

    Folders get their own part at the end: files that arrive in a folder change its time.
    """
    unfinished = folder.with_suffix(".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        unfinished.mkdir(parents=True)
        with tarfile.open(fileobj=cast("IO[bytes]", _Joined(pieces)), mode="r|") as whole:
            _split(whole, unfinished)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)
    except OSError as error:
        raise SandboxError(f"the root file system cannot be kept to be sent: {error}") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def send_parts(daemon: Daemon, folder: Path, name: str, changes: Sequence[str], progress: Progress) -> None:
    """Make the image `name` on a daemon from the parts in a folder; it continues what an earlier call left there.

    Raises SandboxError.
    """
    parts = sorted(folder.glob("*.tar.gz"))
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part.read_bytes()).digest())
    image = f"{SENDING}:{digest.hexdigest()[:16]}"
    with docker_errors("the root file system cannot be sent"):
        container, done = _begun(daemon, image)
    sent = _Sent(
        sum(part.stat().st_size for part in parts), sum(part.stat().st_size for part in parts[:done]), progress
    )
    if done:
        progress(f"continuing at {mb(sent.before)} of {mb(sent.total)} MB")
    for number, part in enumerate(parts[done:], done + 1):
        _put(container, part, sent)
        with docker_errors("the root file system cannot be sent"):
            container.rename(_name(image, number))
    progress(f"sent {mb(sent.total)} of {mb(sent.total)} MB; Docker there makes an image of it")
    with docker_errors("the root file system cannot be imported"):
        container.commit(*name.split(":"), changes=["CMD []", *changes])
        container.remove()
        daemon.client.images.remove(image)


def remove_unfinished(daemon: Daemon) -> tuple[str, ...]:
    """Remove what set-ups left that never ended; the names. Raises SandboxError."""
    with docker_errors("the containers cannot be listed"):
        found = daemon.client.containers.list(all=True, filters={"name": f"^/{SENDING}-"})
        for container in found:
            container.remove(force=True)
    return tuple(sorted(str(container.name) for container in found))


def _split(whole: tarfile.TarFile, folder: Path) -> None:
    folders: list[tarfile.TarInfo] = []
    members, count = iter(whole), 0
    while (first := next(members, None)) is not None:
        with _part(folder, count) as part:
            size, member = 0, cast("tarfile.TarInfo | None", first)
            while member is not None:
                part.addfile(member, whole.extractfile(member) if member.isreg() else None)
                size += member.size if member.isreg() else 0
                if member.isdir():
                    folders.append(member)
                member = next(members, None) if size < PART_BYTES else None
        count += 1
    with _part(folder, count) as part:
        for member in folders:
            part.addfile(member)


@contextlib.contextmanager
def _part(folder: Path, number: int) -> Iterator[tarfile.TarFile]:
    """A compressed tar without a time of its own, so that the same files are the same part."""
    with (
        (folder / f"{number:04}.tar.gz").open("wb") as file,
        gzip.GzipFile(fileobj=file, mode="wb", mtime=0, filename="", compresslevel=6) as packed,
        tarfile.open(fileobj=packed, mode="w") as part,
    ):
        yield part


class _Joined(io.RawIOBase):
    """What reads pieces as one file."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        parts, missing = [self._rest], size - len(self._rest)
        while (size < 0 or missing > 0) and (piece := next(self._pieces, b"")):
            parts.append(piece)
            missing -= len(piece)
        whole = b"".join(parts)
        found, self._rest = (whole, b"") if size < 0 else (whole[:size], whole[size:])
        return found


class _Sent:
    """What was sent of all parts, and the sentences about it."""

    def __init__(self, total: int, before: int, progress: Progress) -> None:
        self.total, self.before, self.progress = total, before, progress
        self.sent = 0
        self._began = self._last = time.monotonic()

    def add(self, count: int) -> None:
        self.sent += count
        if (now := time.monotonic()) - self._last >= SAID_EVERY_S:
            self._last, rate = now, self.sent / (now - self._began)
            done = self.before + self.sent
            left_s = max(0, self.total - done) / max(rate, 1)
            self.progress(f"sent {mb(done)} of {mb(self.total)} MB, {rate / 1e6:.1f} MB/s, {left_s:.0f} s left")


def _begun(daemon: Daemon, image: str) -> tuple[Container, int]:
    """The container that the parts go into, and how many it has."""
    names = re.compile(re.escape(_name(image, 0)[:-1]) + r"(\d+)")
    for container in daemon.client.containers.list(all=True, filters={"name": _name(image, 0)[:-1]}):
        if found := names.fullmatch(str(container.name)):
            return container, int(found[1])
    empty = io.BytesIO()
    tarfile.open(fileobj=empty, mode="w").close()
    repository, _, tag = image.partition(":")
    daemon.client.api.import_image_from_data(empty.getvalue(), repository=repository, tag=tag)
    made = daemon.client.containers.create(image, command=["true"], name=_name(image, 0), network_mode="none")
    return made, 0


def _name(image: str, done: int) -> str:
    return f"{image.replace(':', '-')}-{done}"


def _put(container: Container, part: Path, sent: _Sent) -> None:
    """Send one part; again where the line was cut. Raises SandboxError where it carries nothing any more."""
    before = sent.sent
    for wait_s in (*WAITS_S, None):
        try:
            with docker_errors("the line was cut"):
                container.put_archive("/", _counted(part, sent))
                return
        except SandboxError as error:
            sent.sent = before
            if wait_s is None:
                raise SandboxError(
                    f"the line carries nothing any more, at {mb(sent.before + before)} of {mb(sent.total)} MB: "
                    f"{error.message.removeprefix('the line was cut: ')}",
                    hint="run the command again: it continues there",
                ) from None
            sent.progress(error.message[:200])
            time.sleep(wait_s)


def _counted(part: Path, sent: _Sent) -> Iterator[bytes]:
    with part.open("rb") as content:
        while piece := content.read(_PIECE):
            yield piece
            sent.add(len(piece))
