"""Input that is nested without end, or opened and never closed: read or refused, and not by a crash."""

import contextlib

import pytest

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.formats.docstrings import pages_of_module
from amdkernel_mcp.search.formats.doxygen import parse_header
from amdkernel_mcp.search.formats.html import parse_html
from amdkernel_mcp.search.formats.llms import pages_of_llms
from amdkernel_mcp.search.formats.markdown import parse_markdown
from amdkernel_mcp.search.formats.rst import parse_rst
from amdkernel_mcp.search.formats.tables import parse_yaml

DEEP = 10_000
READERS = {"md": parse_markdown, "html": parse_html, "rst": parse_rst, "yaml": parse_yaml, "h": parse_header}
INPUTS = {
    "md quotes": "> " * DEEP + "x",
    "md lists": "\n".join("  " * depth + "- x" for depth in range(1_000)),
    "md brackets": "[" * DEEP + "x" + "]" * DEEP,
    "md directives": "\n".join("`" * (1_003 - depth) + "{note}" for depth in range(1_000)),
    "md colons": "\n".join(":" * (depth % 50 + 3) + "{note}" for depth in range(DEEP)),
    "md comments": "<!-- " * 5 * DEEP,
    "md scripts": "<script " * 5 * DEEP,
    "html elements": "<div>" * DEEP + "x" + "</div>" * DEEP,
    "html tags": "<a " * 3 * DEEP,
    "html comments": "<!-- " * 3 * DEEP,
    "rst directives": "\n".join(" " * depth + ".. note:: x" for depth in range(1_000)),
    "rst quotes": "`" * 10 * DEEP,
    "yaml lists": "[" * DEEP,
    "yaml maps": "\n".join(" " * depth + "a:" for depth in range(1_000)),
    "h parentheses": "/** x */\nint f(" + "(" * DEEP,
    "h braces": "struct a {" * DEEP,
}


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.timeout(30)
def test_deep_input_is_read_or_refused(name: str) -> None:
    kind = name.split()[0]
    # Only YAML has a form that cannot be read at all.
    with contextlib.suppress(*[DocumentationError] if kind == "yaml" else []):
        READERS[kind]("page", INPUTS[name])


def test_headings_inside_deep_directives_are_found_and_deeper_ones_stay_text() -> None:
    def page(depth: int) -> str:
        opening = "\n".join("`" * (depth - at + 3) + "{note}" for at in range(depth))
        closing = "\n".join("`" * (at + 4) for at in range(depth))
        return f"# Title\n\n{opening}\n## Inside\n{closing}\n"

    assert [one.heading for one in parse_markdown("a.md", page(5)).sections] == ["Title", "Inside"]
    (section,) = parse_markdown("a.md", page(40)).sections
    assert "## Inside" in section.text


def test_an_llms_file_of_rules_alone_is_read() -> None:
    text = "---\n\n" * DEEP + "Source: https://example.org/en/latest/a.html\n\nbody"
    assert [page.path for page in pages_of_llms(text, "https://example.org/en/latest/", [])] == ["a.md"]


def test_html_that_is_never_closed_keeps_its_text() -> None:
    page = parse_html("a.html", "<h1>Title</h1><p>Text before</p><a href=")
    assert "Text before" in page.sections[0].text


@pytest.mark.parametrize("text", ["(" * DEEP, f"x = {'-' * 10 * DEEP}1", "\0", "if x:\n" * 200])
def test_a_module_that_is_nested_too_deeply_has_no_page(text: str) -> None:
    assert list(pages_of_module("a.py", text)) == []
