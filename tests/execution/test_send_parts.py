"""A root file system reaches a daemon by its API alone, in parts, over a line that is cut.

The line is a socket of this machine that carries so many bytes to the daemon and is then closed.
"""

import contextlib
import io
import secrets
import socket
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import SandboxError, ToolchainError
from amdkernel_mcp.execution.docker.daemon import Daemon, connect
from amdkernel_mcp.execution.setup import parts, prune

FILES = {f"usr/lib/lib{number}.so": secrets.token_bytes(200_000) for number in range(6)}


def root_file_system() -> bytes:
    """A tar with a folder older than its files, a file of another user, links and a mode with a set bit."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for path in (".", "./usr", "./usr/lib", "./etc"):
            member = tarfile.TarInfo(path)
            member.type, member.mode, member.mtime = tarfile.DIRTYPE, 0o755, 1_700_000_000
            archive.addfile(member)
        for path, data in FILES.items():
            member = tarfile.TarInfo(f"./{path}")
            member.size, member.uid, member.mode, member.mtime = len(data), 33, 0o640, 1_600_000_000
            archive.addfile(member, io.BytesIO(data))
        for path, kind, target in (
            ("./lib", tarfile.SYMTYPE, "usr/lib"),
            ("./usr/same.so", tarfile.LNKTYPE, "./usr/lib/lib0.so"),
        ):
            member = tarfile.TarInfo(path)
            member.type, member.linkname = kind, target
            member.uid, member.mode, member.mtime = 33, 0o640, 1_600_000_000  # a link has those of its file
            archive.addfile(member)
    return content.getvalue()


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(parts, "PART_BYTES", 300_000)
    monkeypatch.setattr(parts, "WAITS_S", (0.0, 0.0))
    whole = root_file_system()
    parts.keep_parts([whole[:700], whole[700:9000], whole[9000:]], tmp_path / "sent")
    return tmp_path / "sent"


def test_each_file_is_in_one_part_and_folders_come_again_at_the_end(kept: Path, tmp_path: Path) -> None:
    names = []
    for part in sorted(kept.iterdir()):
        with tarfile.open(part) as archive:
            names.append(archive.getnames())
    assert len(names) == 5, names
    assert names[-1] == [".", "./usr", "./usr/lib", "./etc"]
    assert sorted(name for each in names[:-1] for name in each) == sorted(
        [".", "./usr", "./usr/lib", "./etc", "./lib", "./usr/same.so", *(f"./{path}" for path in FILES)]
    )
    parts.keep_parts([root_file_system()], tmp_path / "again")
    same = [[file.read_bytes() for file in sorted(folder.iterdir())] for folder in (kept, tmp_path / "again")]
    assert same[0] == same[1], "what a set-up after a lost cache continues"


def test_a_root_file_system_that_ends_early_leaves_no_parts(tmp_path: Path) -> None:
    def breaks() -> Iterator[bytes]:
        yield root_file_system()[:300_000]
        raise ToolchainError("no space")

    with pytest.raises(ToolchainError):
        parts.keep_parts(breaks(), tmp_path / "sent")
    assert list(tmp_path.iterdir()) == []


class Line:
    """A way to the local daemon that is cut `cuts` times, each time when it has carried `carried` bytes."""

    def __init__(self, daemon: Daemon, *, cuts: int, carried: int) -> None:
        self._path, self._cuts, self._carried = daemon.url.removeprefix("unix://"), cuts, carried
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            there = socket.socket(socket.AF_UNIX)
            there.connect(self._path)
            threading.Thread(target=self._carry, args=(client, there, True), daemon=True).start()
            threading.Thread(target=self._carry, args=(there, client, False), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, counted: bool) -> None:
        budget = self._carried
        try:
            while data := source.recv(65536):
                budget -= len(data)
                if counted and budget < 0 and self._cuts:
                    self._cuts -= 1
                    break
                sink.sendall(data)
        except OSError:
            pass
        finally:
            for each in (source, sink):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    opened = connect(load_settings().docker_host)
    yield opened
    parts.remove_unfinished(opened)
    prune.remove_images(opened, (parts.SENDING, "amdkernel-sent"), keep=frozenset())
    opened.close()


@pytest.mark.sandbox
def test_the_image_has_all_files_though_the_line_was_cut_and_the_set_up_began_again(daemon: Daemon, kept: Path) -> None:
    name, said = f"amdkernel-sent:{secrets.token_hex(4)}", list[str]()
    line = Line(daemon, cuts=4, carried=300_000)
    there = connect(line.url)
    try:
        with pytest.raises(SandboxError, match=r"the line carries nothing any more, at 0 of 1 MB") as error:
            parts.send_parts(there, kept, name, [], said.append)
        assert error.value.hint == "run the command again: it continues there"
        [left] = daemon.client.containers.list(all=True, filters={"name": parts.SENDING})
        assert str(left.name).endswith("-0")
        parts._put(left, sorted(kept.iterdir())[0], parts._Sent(1, 0, said.append))
        left.rename(f"{str(left.name)[:-1]}1")
        said.clear()
        parts.send_parts(there, kept, name, ["LABEL a=b"], said.append)
    finally:
        there.close()
        line.close()
    assert said[0] == "continuing at 0 of 1 MB"
    assert said[-1] == "sent 1 of 1 MB; Docker there makes an image of it"
    assert not daemon.client.containers.list(all=True, filters={"name": parts.SENDING})
    image = daemon.client.images.get(name)
    assert image.labels == {"a": "b"}
    made = daemon.client.containers.create(name, command=["true"], network_mode="none")
    try:
        stream = io.BytesIO(b"".join(made.get_archive("/usr")[0]))
    finally:
        made.remove()
    with tarfile.open(fileobj=stream) as archive:
        found = {each.name: each for each in archive}
        for path, data in FILES.items():
            file = archive.extractfile(found[path])
            assert file is not None
            assert file.read() == data
            assert (found[path].uid, found[path].mode & 0o7777, found[path].mtime) == (33, 0o640, 1_600_000_000)
    assert found["usr/lib"].mtime == 1_700_000_000, "not when its files arrived"
