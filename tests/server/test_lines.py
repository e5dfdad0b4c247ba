"""Lines of a pipe, with a limit: whatever the chunks, and with the id of what was too long."""

import os
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amdkernel_mcp.server.lines import LongLine, Splitter, read_bounded_lines, read_lines


@given(st.lists(st.binary(max_size=30), max_size=8), st.integers(1, 7))
def test_lines_are_the_same_however_they_arrive(pieces: list[bytes], size: int) -> None:
    whole = b"\n".join(pieces)
    splitter = Splitter(None)
    found: list[bytes | LongLine] = []
    for start in range(0, len(whole), size):
        found += splitter.feed(whole[start : start + size])
    found += splitter.end()
    assert found == [line + b"\n" for line in whole.split(b"\n")[:-1]] + (
        [last] if (last := whole.split(b"\n")[-1]) else []
    )


@pytest.mark.parametrize(
    ("first", "last", "identity"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"source":"', b'"}}', 7),
        (b'{"jsonrpc": "2.0", "method": "tools/call", "id": "a-1", "params": {"source": "', b'"}}', "a-1"),
        (b'{"method":"tools/call","params":{"source":"', b'"},"jsonrpc":"2.0","id":12}', 12),
        (b'{"method":"tools/call","params":{"source":"', b'"},"id":"x","jsonrpc":"2.0"}', "x"),
        (b'{"method":"tools/call","params":{"source":"', b'","id":5}}', None),
        (b'{"method":"tools/call","params":{"source":"\\"id\\":5}', b'"}}', None),
        (b"[", b"]", None),
    ],
)
def test_a_line_that_is_too_long_is_dropped_and_its_id_kept(first: bytes, last: bytes, identity: object) -> None:
    splitter = Splitter(10_000)
    found = [*splitter.feed(first), *splitter.feed(b"x" * 20_000), *splitter.feed(last + b"\nnext\n")]
    assert found == [LongLine(identity), b"next\n"]  # type: ignore[arg-type]  # the table has ids of several types


def test_a_line_of_exactly_the_limit_passes() -> None:
    splitter = Splitter(5)
    assert list(splitter.feed(b"1234\n12345\n")) == [b"1234\n", LongLine(None)]


def test_memory_stays_small_while_a_long_line_arrives() -> None:
    splitter, chunk = Splitter(100_000), b"x" * 65_536
    tracemalloc.start()
    for _ in range(500):
        assert not list(splitter.feed(chunk))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    assert list(splitter.end()) == [LongLine(None)]


def test_what_is_left_at_the_end_of_a_pipe_is_a_line() -> None:
    for read in (read_lines, lambda fd: read_bounded_lines(fd, 100)):
        ours, theirs = os.pipe()
        os.write(theirs, b"one\ntwo")
        os.close(theirs)
        assert list(read(ours)) == [b"one\n", b"two"]
        os.close(ours)
