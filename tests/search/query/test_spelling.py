"""Slips in names and words: what is corrected, what is left alone, and how often the right name comes first."""

from collections.abc import Iterator

import pytest

from amdkernel_mcp.search.index.build import build_index
from amdkernel_mcp.search.index.index import Index, open_index
from amdkernel_mcp.search.query.search import search
from amdkernel_mcp.search.query.spelling import within_one_edit
from benchmarks.misspelt import answered

API = """# Streams

## exStreamSynchronize

Waits for a stream.

## exStreamDestroy

Ends a stream.

## lib_sgemm

Of floats.

## lib_dgemm

Of doubles.

## exCopyDtoH2

Copies.
"""
CHANGES = """# Changes

## Fixed

exStreamSyncronize no longer hangs; exCopyDtoH3 and lib_xgemm are new. A barier was missing.
"""


@pytest.fixture(scope="module")
def slips(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Entries of an API, and a change log that has slips of its own."""
    root = tmp_path_factory.mktemp("slips")
    (root / "s").mkdir()
    (root / "s/api.md").write_text(API)
    (root / "s/changes.md").write_text(CHANGES)
    build_index([root / "s"], root / "i.db")
    with open_index(root / "i.db") as index:
        yield index


@pytest.mark.parametrize("asked", ["exStreamSyncronize", "exstreamsyncronize", "does exStreamSyncronize wait"])
def test_a_misspelt_name_that_a_page_has_too_finds_the_right_one_first(slips: Index, asked: str) -> None:
    result = search(slips, asked)
    assert result.results[0].heading == "Streams > exStreamSynchronize"
    assert "read as exStreamSynchronize" in result.applied[0]


@pytest.mark.parametrize("asked", ["exStreamSynchronization", "exStreamSyncronization", "exStraemSynchronize"])
def test_a_name_with_another_ending_or_a_slip_finds_the_right_one_first(slips: Index, asked: str) -> None:
    assert search(slips, asked).results[0].heading == "Streams > exStreamSynchronize"


@pytest.mark.parametrize("asked", ["lib_xgemm", "exCopyDtoH3", "exStreamDestroy"])
def test_a_name_of_the_documents_is_left_alone_where_two_are_as_near_or_digits_differ(slips: Index, asked: str) -> None:
    assert search(slips, asked).applied == []


@pytest.mark.parametrize("asked", ["farrier", "xhanges"])
def test_a_plain_word_with_another_first_letter_is_another_word(slips: Index, asked: str) -> None:
    assert search(slips, f"{asked} streams").applied == []


def test_of_two_names_an_edit_away_the_likelier_slip_is_meant(slips: Index) -> None:
    assert search(slips, "lib_ssgemm").applied == ["lib_ssgemm was read as lib_sgemm"], "a letter was doubled"
    assert search(slips, "lib_dgmem").applied == ["lib_dgmem was read as lib_dgemm"], "two letters were swapped"


@pytest.mark.thorough
@pytest.mark.slow
def test_of_names_of_the_hip_api_with_one_slip_99_in_100_come_first(rocm_index: Index) -> None:
    rows = list(answered(rocm_index, 300))
    wrong = [(name, asked) for name, asked, first in rows if not first]
    assert len(rows) == 300
    assert len(wrong) <= 3, wrong


@pytest.mark.parametrize(
    ("word", "name", "near"),
    [
        ("hipmaloc", "hipmalloc", True),
        ("hipmallocc", "hipmalloc", True),
        ("hipmalolc", "hipmalloc", True),
        ("hipmallob", "hipmalloc", True),
        ("ihpmalloc", "hipmalloc", True),
        ("hipmallco", "hipmalloc", True),
        ("hipmaocl", "hipmalloc", False),
        ("hipmall", "hipmalloc", False),
        ("hopmalloe", "hipmalloc", False),
    ],
)
def test_one_edit_is_told_from_two(word: str, name: str, near: bool) -> None:
    assert within_one_edit(word, name) is near
