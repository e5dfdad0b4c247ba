"""What people ask where a section is the answer: the files, and what search makes of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.bundled import folder
from amdkernel_mcp.search.index.build import build_index
from amdkernel_mcp.search.index.index import Index, open_index
from amdkernel_mcp.search.index.section_questions import load_questions, questions_of, stem_of
from amdkernel_mcp.search.query.search import search

FILES = sorted((folder("docs_index") / "section_questions").glob("*.tsv"))


def test_a_section_is_found_by_words_of_its_questions_alone(tmp_path: Path) -> None:
    (source, stem), sections = next(iter(load_questions().items()))
    anchor, questions = next(iter(sections.items()))
    path = f"{stem}.md"
    page = tmp_path / source / path
    page.parent.mkdir(parents=True)
    page.write_text(f"# A page\n\n## {anchor}\n\nNothing else.\n\n## Another\n\nNothing more.\n")
    build_index([tmp_path / source], tmp_path / "index.sqlite3")
    with open_index(tmp_path / "index.sqlite3") as index:
        assert search(index, questions).results[0].ref == f"{source}/{path}#{anchor}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_line_names_a_page_or_a_section_once(file: Path) -> None:
    pages: set[str] = set()
    anchors: set[str] = set()
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("= "):
            assert line not in pages, f"line {number}: {line} again"
            pages.add(line)
            anchors = set()
            continue
        anchor, _, questions = line.partition("\t")
        assert pages, "the first line is not a page"
        assert all([anchor, questions.strip(), "\t" not in questions]), f"line {number}: {line}"
        assert anchor not in anchors, f"line {number}: {anchor} again"
        anchors.add(anchor)


def test_each_section_is_one_of_the_documentation(rocm_index: Index) -> None:
    known = {(source, stem_of(path), anchor) for source, path, anchor in _sections(rocm_index)}
    lost = [
        (*page, anchor)
        for page, sections in load_questions().items()
        if page[0] in rocm_index.versions  # newer sources are in no archive of the tests
        for anchor in sections
        if (*page, anchor) not in known
    ]
    assert not lost, f"{len(lost)} of no section, such as {lost[:3]}"


def _sections(index: Index) -> Iterator[tuple[str, str, str]]:
    yield from index.connection.execute("SELECT source, path, anchor FROM sections JOIN pages ON pages.id = page")


def test_a_page_keeps_its_questions_in_another_format_and_an_entry_in_another_version() -> None:
    known = load_questions()
    (anchor, asked), *_ = known["llvm", "AMDGPUUsage"].items()
    for suffix in ("rst", "md", "html"):
        assert questions_of(known, "llvm", f"AMDGPUUsage.{suffix}", anchor) == asked
    pages = [sections for (source, _), sections in known.items() if source == "hip-api"]
    assert questions_of(known, "hip-api-10", "anywhere.md", "hipmemcpyasync") in [
        page.get("hipmemcpyasync", "") for page in pages
    ]
    assert questions_of(known, "hip-api-10", "anywhere.md", "hipmemcpyasync")
    assert questions_of(known, "hip-10x", "anywhere.md", "hipmemcpyasync") == ""


def test_a_folder_with_a_dot_is_no_suffix() -> None:
    assert stem_of("docs-7.2/page") == "docs-7.2/page"
    assert stem_of("docs-7.2/page.md") == "docs-7.2/page"
