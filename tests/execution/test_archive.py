"""A tar from a sandbox is read as an enemy's."""

import io
import tarfile

from hypothesis import given
from hypothesis import strategies as st

from amdkernel_mcp.execution.docker.archive import pack, unpack
from amdkernel_mcp.execution.sandbox import MAX_MEMBERS


def test_what_is_packed_comes_back() -> None:
    files = {"a": b"", "b/c.txt": b"x" * 513, "d" * 150: b"long name"}
    assert unpack(pack(files)) == unpack(pack(files))
    assert unpack(pack(files)).files == files
    assert unpack(pack(files)).complete


def test_a_cut_archive_gives_what_was_whole_and_says_so() -> None:
    contents = unpack(pack({"first": b"1" * 600, "second": b"2" * 600})[: 512 + 1024 + 512 + 100])
    assert contents.files == {"first": b"1" * 600}
    assert not contents.complete


def test_a_gnu_tar_of_a_folder_is_read() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        folder = tarfile.TarInfo("./")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        member = tarfile.TarInfo("./out")
        member.size = 2
        archive.addfile(member, io.BytesIO(b"hi"))
    assert unpack(buffer.getvalue()).files == {"out": b"hi"}
    assert unpack(buffer.getvalue()).complete


def test_more_members_than_the_limit_are_cut() -> None:
    contents = unpack(pack({str(number): b"" for number in range(MAX_MEMBERS + 1)}))
    assert len(contents.files) == MAX_MEMBERS
    assert not contents.complete


@given(st.binary(max_size=2048), st.integers(0, 2000))
def test_no_bytes_make_the_reader_fail_or_name_a_path_outside(noise: bytes, at: int) -> None:
    archive = bytearray(pack({"x": b"content", "y/z": b"more"}))
    archive[at : at + len(noise)] = noise
    for name in unpack(archive).files:
        assert not name.startswith("/")
        assert ".." not in name.split("/")
        assert name.isprintable()
