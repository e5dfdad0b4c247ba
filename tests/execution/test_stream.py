"""Bounded text with an end mark, however it is cut into pieces."""

from hypothesis import given
from hypothesis import strategies as st

from amdkernel_mcp.execution.head_and_tail import HeadAndTail


@given(st.binary(max_size=60), st.lists(st.integers(1, 9), max_size=40))
def test_the_text_ends_at_the_mark_wherever_the_pieces_are_cut(text: bytes, cuts: list[int]) -> None:
    text = text.replace(b"MARK", b"")
    whole = text + b"MARK" + b"after"
    kept = HeadAndTail(end_mark=b"MARK")
    for cut in [*cuts, len(whole)]:
        kept.add(whole[:cut])
        whole = whole[cut:]
    assert kept.ended
    assert kept.text() == text.partition(b"MARK")[0].decode(errors="replace")


def test_without_a_mark_nothing_that_looked_like_one_is_lost() -> None:
    kept = HeadAndTail(end_mark=b"MARK")
    kept.add(b"text MAR")
    kept.finish()
    assert (kept.text(), kept.ended) == ("text MAR", False)


def test_head_and_tail_are_kept_and_the_gap_is_counted() -> None:
    kept = HeadAndTail(keep_bytes=4)
    for number in range(10):
        kept.add(b"%d" % number)
    assert kept.text() == "0123\n[... 2 bytes left out ...]\n6789"
    assert kept.cut
