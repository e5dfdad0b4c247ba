"""The excerpt of a long disassembly."""

from amdkernel_mcp.compiler.isa import excerpt


def test_a_short_text_is_its_own_excerpt() -> None:
    assert excerpt("k:\n  s_endpgm", 100) == "k:\n  s_endpgm"


def test_an_excerpt_ends_with_a_whole_line_and_says_how_much_is_missing() -> None:
    text = "\n".join(f"line {n}" for n in range(100))
    shown = excerpt(text, 50)
    assert shown.splitlines()[:-1] == [f"line {n}" for n in range(7)]
    assert shown.splitlines()[-1] == "; … 93 more lines in the artefact"
