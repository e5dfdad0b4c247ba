"""A cache that cannot be written is reported, never raised; one that grows is pruned."""

import os
import resource
import time

import pytest

from amdkernel_mcp.cache_folder import CacheFolder, seal, unseal


def folder(path, **limits):
    return CacheFolder(path, **{"max_total_bytes": 1 << 20, **limits})


def test_what_was_written_is_read(tmp_path):
    cache = folder(tmp_path / "new" / "cache")
    assert cache.read("ab/abc") is None
    assert cache.write("ab/abc", b"content") is None
    assert cache.read("ab/abc") == b"content"


def test_a_place_that_is_no_folder_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    cache = folder(tmp_path / "file" / "cache")
    assert "Not a directory" in cache.write("name", b"content")
    assert cache.read("name") is None


def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # beyond it a write fails, as on a full disk
    try:
        reason = folder(tmp_path).write("name", b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert reason
    assert not list(tmp_path.iterdir())


def test_an_entry_larger_than_the_cache_is_not_kept(tmp_path):
    cache = folder(tmp_path, max_total_bytes=1000)
    cache.write("small", b"x" * 100)
    assert "larger" in cache.write("large", b"x" * 1001)
    assert cache.read("small")


def test_the_entries_used_longest_ago_go_first(tmp_path):
    cache = folder(tmp_path, max_total_bytes=1000)
    for age, name in enumerate("abc"):
        cache.write(name, b"x" * 300)
        os.utime(tmp_path / name, (age, age))
    cache.read("a")
    cache.write("d", b"x" * 300)
    assert [cache.read(name) is not None for name in "abcd"] == [True, False, True, True]


def test_entries_beyond_their_age_go_with_the_next_write(tmp_path):
    cache = folder(tmp_path, max_age_s=3600)
    cache.write("old", b"x")
    cache.write(".new-left-by-a-kill", b"x")
    for name in ("old", ".new-left-by-a-kill"):
        os.utime(tmp_path / name, (time.time() - 3601,) * 2)
    cache.write("young", b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["young"]


@pytest.mark.parametrize(
    "damaged",
    [b"", b"cut"[:1], seal(b"content")[:-1], seal(b"content") + b"x", os.urandom(100)],
    ids=["empty", "one byte", "cut", "longer", "random"],
)
def test_only_whole_contents_are_unsealed(damaged):
    assert unseal(seal(b"content")) == b"content"
    assert unseal(damaged) is None
