"""Entries of the compile cache."""

import os
import threading
from pathlib import Path

import pytest

from amdkernel_mcp.compiler.cache import CompileCache, Entry, key_of

ENTRY = Entry(b'{"ok": true}', b"\x7fELF code", "\ts_endpgm // 000000001600: BF810000\n")
KEY = key_of({"source": "x", "flags": ["-O3"]})


def test_what_was_put_is_got(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path / "compile")
    assert cache.get(KEY) is None
    cache.put(KEY, ENTRY)
    assert cache.get(KEY) == ENTRY
    assert CompileCache(tmp_path / "compile").get(KEY) == ENTRY


def test_an_entry_without_code_comes_back_without_code(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path)
    cache.put(KEY, Entry(b"{}", None, ""))
    entry = cache.get(KEY)
    assert entry is not None
    assert entry.code_object is None


def test_keys_differ_when_any_part_does() -> None:
    assert key_of({"a": ["1", "2"]}) != key_of({"a": ["12"]}) != key_of({"b": ["12"]})
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1})


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "rubbish"])
def test_a_damaged_entry_is_no_entry_and_is_removed(tmp_path: Path, damage: str) -> None:
    cache = CompileCache(tmp_path)
    cache.put(KEY, ENTRY)
    file = tmp_path / KEY[:2] / KEY
    whole = file.read_bytes()
    flipped = whole[:-1] + bytes([whole[-1] ^ 1])
    file.write_bytes({"empty": b"", "cut": whole[:-3], "flipped": flipped, "rubbish": os.urandom(500)}[damage])
    assert cache.get(KEY) is None
    assert not file.exists()
    cache.put(KEY, ENTRY)
    assert cache.get(KEY) == ENTRY


def test_the_entries_used_longest_ago_go_first(tmp_path: Path) -> None:
    cache = CompileCache(tmp_path, max_total_bytes=5000)
    keys = [key_of({"n": n}) for n in range(4)]
    for age, key in enumerate(keys[:3]):
        cache.put(key, Entry(os.urandom(1400), None, ""))
        os.utime(tmp_path / key[:2] / key, (age, age))
    assert cache.get(keys[0]) is not None, "a hit makes the oldest the newest"
    cache.put(keys[3], Entry(os.urandom(1400), None, ""))
    assert [cache.get(key) is not None for key in keys] == [True, False, True, True]


def test_a_cache_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = CompileCache(tmp_path / "file" / "compile")
    assert "Not a directory" in (cache.put(KEY, ENTRY) or "")
    assert cache.get(KEY) is None


def test_threads_that_write_and_read_one_entry_see_it_whole_or_not_at_all(tmp_path: Path) -> None:
    entry = Entry(b"{}" * 50_000, os.urandom(200_000), "")
    wrong: list[Entry] = []

    def work() -> None:
        cache = CompileCache(tmp_path)
        for _ in range(20):
            cache.put(KEY, entry)
            got = cache.get(KEY)
            if got != entry:
                wrong.append(got or Entry(b"", None, ""))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == [KEY], "nothing temporary is left"
