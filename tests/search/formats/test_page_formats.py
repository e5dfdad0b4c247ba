"""What the readers make of reStructuredText, Markdown and HTML."""

import contextlib
from pathlib import Path

import pytest

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.formats.html import parse_html
from amdkernel_mcp.search.formats.markdown import parse_markdown
from amdkernel_mcp.search.formats.page import Page, Section
from amdkernel_mcp.search.formats.rst import parse_rst

CORPUS = Path(__file__).parents[1] / "sample_corpus"


def section(page: Page, heading: str) -> Section:
    return next(one for one in page.sections if one.heading == heading)


def lds_page() -> Page:
    return parse_rst("how-to/lds.rst", (CORPUS / "guide/how-to/lds.rst").read_text())


def porting_page() -> Page:
    return parse_markdown("porting.md", (CORPUS / "guide/porting.md").read_text())


def test_headings_nest_by_the_order_in_which_their_adornments_appear() -> None:
    trails = [one.breadcrumb for one in lds_page().sections]
    assert trails == [
        ("Local data share",),
        ("Local data share", "Avoiding bank conflicts"),
        ("Local data share", "Avoiding bank conflicts", "nt"),
        ("Local data share", "Avoiding bank conflicts", "Bank widths"),
    ]


def test_labels_lines_and_keywords_are_kept() -> None:
    page = lds_page()
    conflicts = section(page, "Avoiding bank conflicts")
    assert conflicts.labels == ("bank-conflicts",)
    lines = (CORPUS / "guide/how-to/lds.rst").read_text().split("\n")
    assert lines[conflicts.line - 1] == "Avoiding bank conflicts"
    assert "scratchpad, banks" in page.keywords


def test_directives_become_text_and_code_stays() -> None:
    text = section(lds_page(), "Avoiding bank conflicts").text
    assert "Note:" in text
    assert "See the instruction set guide" in text, text
    assert "   __shared__ float tile[32][33];" in text
    assert "code-block" not in text
    assert "::" not in text


def test_rows_of_a_list_table_become_lines_and_a_toctree_goes() -> None:
    text = section(lds_page(), "Bank widths").text
    assert "| Architecture | Banks |" in text
    assert "| Example9 | 32 banks of 4 bytes |" in text
    assert "hidden-entry" not in text


def test_rules_of_a_table_are_not_headings() -> None:
    page = parse_rst("a.rst", "Title\n=====\n\n===== =====\nName  Value\n===== =====\nlanes 64\n===== =====\n")
    assert [one.heading for one in page.sections] == ["Title"]
    assert "lanes 64" in page.sections[0].text


def test_markdown_labels_fences_and_links() -> None:
    launches = section(porting_page(), "Make launches wait")
    assert launches.labels == ("launch-blocking",)
    assert "Read the page." in launches.text
    assert "Warning:" in launches.text
    assert "# not a heading" in launches.text, "code is not a heading"
    assert section(porting_page(), "Streams").breadcrumb == ("Porting guide", "Streams")
    assert porting_page().keywords == '"From CUDA to HIP"'


def test_rst_inside_markdown_is_read_as_rst() -> None:
    page = parse_markdown(
        "a.md",
        "# A\n\n```{eval-rst}\n.. option:: -O3\n\n   The :ref:`fast <x>` one.\n   ~~~~ ^ ~~~~\n```\n\n## B\n\ntext\n",
    )
    assert [one.heading for one in page.sections] == ["A", "B"]
    assert "The fast one." in page.sections[0].text


def test_of_an_html_page_only_the_main_part_is_read() -> None:
    page = parse_html("r.html", (CORPUS / "guide/rendered.html").read_text())
    assert [one.breadcrumb for one in page.sections] == [("Rendered page",), ("Rendered page", "Inner part")]
    inner = page.sections[1].text
    assert "wave | 64 lanes" in inner
    assert "```\nint  x = 1;\nint  y = 2;\n```" in inner
    assert "Menu" not in str(page)
    assert "Imprint" not in str(page)


def test_invisible_characters_are_stripped() -> None:
    page = parse_markdown("n.md", "# T\u200bitle\n\nA\u202eB\x1b[31m \U000e0041end\n")
    assert page.title == "Title"
    assert page.sections[0].text == "AB end"


def test_a_page_without_a_heading_is_called_after_its_file() -> None:
    assert parse_markdown("how-to/my_page.md", "text").title == "my page"
    assert parse_rst("empty.rst", "").sections == ()


def test_every_table_of_rst_keeps_its_head_apart_from_its_rows() -> None:
    simple = "Tt\n==\n\n==== =====\nName Value\n==== =====\na    1\n==== =====\n"
    grid = "Tt\n==\n\n+---+---+\n| A | B |\n+===+===+\n| 1 | 2 |\n+---+---+\n"
    listed = "Tt\n==\n\n.. list-table:: L\n   :header-rows: 1\n\n   * - A\n     - B\n   * - 1\n     - 2\n"
    comma = 'Tt\n==\n\n.. csv-table:: L\n   :header: "A", "B"\n\n   "1", "2"\n'
    for text in (simple, grid, listed, comma):
        lines = [line.strip() for line in parse_rst("a.rst", text).sections[0].text.split("\n") if line.strip()]
        rule = lines.index("| --- |")
        assert 0 < rule < len(lines) - 1, lines


def test_substitutions_and_escapes_of_rst_are_what_a_reader_sees() -> None:
    page = parse_rst("a.rst", "Tt\n==\n\n.. |mu| unicode:: U+03BC\n\n\\ |mu|\\ s are short.\n")
    assert page.sections[0].text == "μs are short."


def test_a_declaration_of_a_rendered_reference_is_a_section_called_by_its_name() -> None:
    page = parse_html(
        "api.html",
        """<main><h1>Reference</h1><p>All of it.</p><dl class="cpp function">
        <dt class="sig sig-object cpp" id="_CPPv1f">
        <span class="kt">int</span> <span class="sig-name descname"><span class="n">exCopy</span></span>(int n)
        <a class="headerlink">¶</a></dt><dd><p>Copies n items.</p></dd></dl></main>""",
    )
    assert [one.breadcrumb for one in page.sections] == [("Reference",), ("Reference", "exCopy")]
    assert page.sections[1].text == "`int exCopy(int n)`\n\nCopies n items."
    assert page.sections[1].labels == ("_CPPv1f",)


def test_the_head_of_a_rendered_table_is_kept_apart() -> None:
    table = "<h1>T</h1><table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>"
    lines = [line for line in parse_html("t.html", table).sections[0].text.split("\n") if line]
    assert lines == ["| A | B", "| --- |", "| 1 | 2"]


@pytest.mark.parametrize("text", ["<![<", "<h1>a<![x y>", "<![CDATA["])
def test_broken_html_is_refused_or_read_but_never_more(text: str) -> None:
    with contextlib.suppress(DocumentationError):
        parse_html("a.html", text)


def test_no_reference_brings_back_what_nobody_sees() -> None:
    assert "\u202e" not in str(parse_html("a.html", "<h1>T</h1><p>a&#x202E;b&#8203;c</p>"))
    assert "\u202e" not in str(parse_rst("a.rst", "Tt\n==\n\n.. |x| unicode:: U+202E U+FFFFFF\n\na |x| b\n"))


MYST = """# FlyDSL (<span style="c"><strong>F</strong></span>lexible p<span>y</span>thon <b>DSL</b>)

(waves)=
## Waves and lanes

See {ref}`sizes`, {ref}`waves` and {ref}`else-where`.

:::{list-table} Sizes of waves
:name: sizes
:header-rows: 1

* - GPU
  - Lanes
* - `gfx942`
  - 64, as on
    all of CDNA
:::

After it.
"""


def test_a_myst_list_table_is_a_table_and_references_name_what_they_mean() -> None:
    page = parse_markdown("page.md", MYST)
    text = section(page, "Waves and lanes").text
    assert "See Sizes of waves, Waves and lanes and else where." in text
    assert "| GPU | Lanes |\n| --- |" in text or "| GPU | Lanes |\n|---" in text
    assert "| `gfx942` | 64, as on all of CDNA |" in text
    assert "* -" not in text
    assert text.endswith("After it.")


def test_what_is_written_over_two_lines_and_symbols_are_what_a_reader_sees() -> None:
    text = (
        "# AMD&trade;\n\nSee {doc}`the quokka\n<Quokka>` and <a\nhref='x'>its page</a>; AMD&trade; &mdash; 2&nbsp;MB."
    )
    (section,) = parse_markdown("t.md", text).sections
    assert " ".join(section.text.split()) == "See the quokka and its page ; AMD™ — 2 MB."
    assert section.heading == "AMD&trade;", "an anchor does not change"


def test_a_role_of_rst_over_two_lines_is_its_text() -> None:
    said = "See :ref:`unified memory\nrequirements <unified>` and :doc:`the\n  guide` now, a `site\nmap <x.html>`_ too."
    text = f"Page\n====\n\n{said}\n"
    (section,) = parse_rst("p.rst", text).sections
    assert " ".join(section.text.split()) == "See unified memory requirements and the guide now, a site map too."


def test_inline_html_breaks_no_word() -> None:
    assert parse_markdown("page.md", MYST).title == "FlyDSL (Flexible python DSL )"


def test_what_doxygen_did_not_find_is_no_text() -> None:
    failed = "Warning\ndoxygenfunction: Cannot find function f in doxygen xml output for project X"
    page = parse_markdown("api.md", f"# A\n\n## f()\n\n{failed}\n\n## g()\n\nMakes g.\n")
    assert [one.text for one in page.sections if one.text] == ["Makes g."]
