"""Colours leave a text as it is."""

import pytest

from amdkernel_mcp.pages.colours import coloured

KERNEL = '__global__ void k(float* a) { /* two\n lines */\n\n  a[0] = 1.0f; // "x"\n}\n'


@pytest.mark.parametrize("text", [KERNEL, KERNEL.rstrip(), "", "\n", "\n\n", "a\r\nb", "int a;\f\n", "x\u2028y\n", "'"])
def test_the_pieces_of_each_line_are_the_line(text: str) -> None:
    assert ["".join(part for _, part in line) for line in coloured(text, "k.hip")] == text.splitlines()


def test_words_have_the_class_of_their_kind() -> None:
    kinds = {part: kind for line in coloured(KERNEL, "k.hip") for kind, part in line}
    assert (kinds["float"], kinds["__global__"], kinds["1.0f"]) == ("type", "word", "number")
    assert (kinds["/* two"], kinds[" lines */"]) == ("comment", "comment")
    assert {part: kind for line in coloured("def f():\n", "k.py") for kind, part in line}["def"] == "word"
