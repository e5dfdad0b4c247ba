"""A root file system reaches another machine compressed and as a whole, over a line that is cut.

That machine is this one, behind a real sshd of its own.
"""

import hashlib
import io
import os
import re
import secrets
import subprocess
import tarfile
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.debian import Release
from amdkernel_mcp.errors import SandboxError, ToolchainError
from amdkernel_mcp.execution.docker.daemon import Daemon, connect
from amdkernel_mcp.execution.setup import build, parts, send
from amdkernel_mcp.execution.setup.rootfs import DebianSystem

MB = 10**6
CUTS = """#!/bin/sh
case "$*" in *"dd of="*) ;; *) exec {ssh} "$@" ;; esac
count=$(cat {folder}/count 2>/dev/null || echo 0); echo $((count + 1)) >{folder}/count
[ $count -ge {cuts} ] && exec {ssh} "$@"
head -c {carried} | {ssh} "$@"
echo "Connection reset" >&2; exit 255
"""


@pytest.fixture
def home(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of its own in place of the one where files arrive, which is below the home of the user there."""
    request.getfixturevalue("gpu1")
    name = f".cache/amdkernel/test-{secrets.token_hex(4)}"
    monkeypatch.setattr(send, "FOLDER", name)
    monkeypatch.setattr(send, "WAITS_S", (0.0, 0.0))
    yield Path.home() / name
    subprocess.run(["rm", "-rf", Path.home() / name], check=True)


def cut(tmp_path: Path, *, cuts: int, carried: int) -> None:
    """The line carries so many bytes and is cut, so many times."""
    ssh = tmp_path / "bin/ssh"
    ssh.rename(tmp_path / "bin/real-ssh")
    ssh.write_text(CUTS.format(ssh=tmp_path / "bin/real-ssh", folder=tmp_path, cuts=cuts, carried=carried))
    ssh.chmod(0o755)


def some_file(tmp_path: Path, count: int) -> Path:
    file = tmp_path / "some"
    file.write_bytes(os.urandom(count))
    return file


def test_a_file_is_continued_where_the_line_was_cut(tmp_path: Path, home: Path) -> None:
    file, said = some_file(tmp_path, 6 * MB), list[str]()
    cut(tmp_path, cuts=2, carried=2 * MB)
    send._send("ssh://gpu1", file, f"{send.FOLDER}/there", 6 * MB, said.append)
    assert (home / "there").read_bytes() == file.read_bytes()
    assert (home.stat().st_mode & 0o777, (tmp_path / "count").read_text()) == (0o700, "3\n")
    assert [line for line in said if line.startswith("continuing")] == [
        "continuing at 2 of 6 MB", "continuing at 4 of 6 MB"
    ]  # fmt: skip
    assert "the line was cut: Connection reset" in said
    assert re.fullmatch(r"sent 6 of 6 MB, \d+\.\d MB/s", said[-1])


@pytest.mark.thorough
def test_what_an_earlier_set_up_left_is_not_sent_again_and_a_dead_line_is_an_error(tmp_path: Path, home: Path) -> None:
    file, said = some_file(tmp_path, 3 * MB), list[str]()
    cut(tmp_path, cuts=3, carried=0)
    with pytest.raises(SandboxError, match=r"carries nothing any more, at 0 of 3 MB: Connection reset") as error:
        send._send("ssh://gpu1", file, f"{send.FOLDER}/there", 3 * MB, said.append)
    assert error.value.hint == "run the command again: it continues there"
    (home / "there").write_bytes(file.read_bytes()[: 2 * MB])
    send._send("ssh://gpu1", file, f"{send.FOLDER}/there", 3 * MB, said.append)
    assert (home / "there").read_bytes() == file.read_bytes()
    assert "continuing at 2 of 3 MB" in said
    before = len(said)
    send._send("ssh://gpu1", file, f"{send.FOLDER}/there", 3 * MB, said.append)
    assert len(said) == before


def test_a_file_that_arrives_changed_is_refused_and_removed(tmp_path: Path, home: Path) -> None:
    file = some_file(tmp_path, MB)
    there = home / f"{send._digest(file)[:32]}.tar.gz"
    there.parent.mkdir(parents=True)
    there.write_bytes(b"x" * MB)
    with pytest.raises(SandboxError, match="what arrived at ssh://gpu1 is not what was sent"):
        send.send_and_import("ssh://gpu1", file, "amdkernel-none:1", [], lambda _: None)
    assert not there.exists()


def test_what_is_kept_to_be_sent_is_whole_or_not_there(tmp_path: Path) -> None:
    def breaks() -> Iterator[bytes]:
        yield b"some"
        raise ToolchainError("no space")

    with pytest.raises(ToolchainError):
        send.keep_compressed(breaks(), tmp_path / "sent/a.tar.gz")
    assert list((tmp_path / "sent").iterdir()) == []
    send.keep_compressed([b"some", b" text " * 10_000], tmp_path / "sent/a.tar.gz")
    packed = (tmp_path / "sent/a.tar.gz").read_bytes()
    assert len(packed) < 1000
    assert zlib.decompress(packed, 31) == b"some" + b" text " * 10_000


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    opened = connect(load_settings().docker_host)
    yield opened
    opened.close()


@pytest.mark.thorough
@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("url", "has_client"), [("ssh://gpu1", True), ("ssh://gpu1", False), ("tcp://gpu1:2375", False), (None, False)]
)
def test_the_image_that_is_made_has_the_same_files_on_every_way(
    url: str | None,
    has_client: bool,
    tmp_path: Path,
    home: Path,
    daemon: Daemon,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        member = tarfile.TarInfo("etc/forky")
        member.size = 6
        archive.addfile(member, io.BytesIO(b"forky\n"))
    raw = content.getvalue()
    made: list[str] = []

    class Pieces:
        def __enter__(self) -> Iterator[bytes]:
            made.append("rootfs")
            return iter([raw[:700], raw[700:]])

        def __exit__(self, *_: object) -> None: ...

    monkeypatch.setattr(build, "root_file_system", lambda *_: Pieces())
    monkeypatch.setattr(build, "imports_files", lambda _: has_client)
    system = DebianSystem(
        "7.2", (Release("http://one.example/debian", "forky", None, datetime(2026, 10, 30, tzinfo=UTC)),)
    )
    settings = load_settings({"cache_dir": tmp_path / "cache", "data_dir": tmp_path / "data"}, {})
    name = f"amdkernel-sent-{secrets.token_hex(4)}:1"
    try:
        image = build._import(daemon, name, system, settings, lambda _: None, url)
        if url is None or has_client:
            assert image.attrs["RootFS"]["Layers"] == [f"sha256:{hashlib.sha256(raw).hexdigest()}"]
        made_of_it = daemon.client.containers.create(name, command=["true"], network_mode="none")
        try:
            sent = io.BytesIO(b"".join(made_of_it.get_archive("/etc/forky")[0]))
        finally:
            made_of_it.remove()
        with tarfile.open(fileobj=sent) as archive:
            file = archive.extractfile("forky")
            assert file is not None
            assert file.read() == b"forky\n"
        assert image.labels[build.SUITES] == "forky 2026-10-30T00:00:00Z"
        assert made == ["rootfs"]
        assert not list(home.glob("*")), "what arrived is removed"
        assert not list((tmp_path / "cache").rglob("*.tar.gz")), "what was sent is removed"
        assert not daemon.client.containers.list(all=True, filters={"name": parts.SENDING})
    finally:
        daemon.client.images.remove(name, force=True)
