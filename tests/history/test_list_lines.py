"""The reason of an attempt in a list: never half a number."""

from amdkernel_mcp.history.lines import REASON_CHARS, begun
from amdkernel_mcp.pages.render import whole


def test_a_long_reason_ends_behind_a_word() -> None:
    text = f"{'word ' * 98}cols=2048, then more"
    cut = begun(text, REASON_CHARS)
    assert cut == f"{'word ' * 98}…"
    assert begun("x" * 600, REASON_CHARS).endswith(" …")
    assert len(begun("x" * 600, REASON_CHARS)) <= REASON_CHARS
    assert begun("short", REASON_CHARS) == "short"


def test_a_reason_that_an_older_version_cut_is_shown_without_its_last_half_word() -> None:
    old = f"{'word ' * 98}cols=20480"[:REASON_CHARS]
    assert len(old) == REASON_CHARS
    assert whole(old) == f"{'word ' * 98}…"
    assert whole("word cols=2048") == "word cols=2048"
