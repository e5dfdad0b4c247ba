"""Cards and sections in one answer: order, size, what was corrected, and what differs from this node."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.errors import DocumentationError, SandboxError
from amdkernel_mcp.search.cards.declarations import Entry, write_declarations
from amdkernel_mcp.search.index.build import build_index
from amdkernel_mcp.search.index.index import Index
from amdkernel_mcp.search.library import Library
from amdkernel_mcp.search.versions import Cited, Node, difference, version_in
from amdkernel_mcp.server.delivery.truncate import LIMIT_BYTES, size

SAYS = "```cpp\nhipError_t hipMalloc(void**);\n```\n\nGives memory.\n\nReturns: #hipErrorOutOfMemory"
DECLARED = [Entry("hipMalloc", "function", "hip_runtime_api.h", 2, SAYS)]
GUIDE = "# Memory\n\nWords about hipMalloc and pools.\n\n## Pools\n\nA pool keeps freed memory.\n"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    """An index of one page that calls itself ROCm 7.2, on a node whose headers are of HIP 6.4."""
    corpus = tmp_path / "corpus"
    (corpus / "hip").mkdir(parents=True)
    (corpus / "hip" / "memory.md").write_text(GUIDE)
    url = "https://rocm.docs.amd.com/projects/HIP/en/docs-7.2.0/{page}.html"
    (corpus / "SOURCES.json").write_text(json.dumps([{"source": "hip", "version": "7.2.0", "url": url}]))
    build_index([corpus], tmp_path / "docs.sqlite3")
    opened = Library(tmp_path / "docs.sqlite3", tmp_path / "hip-api.sqlite3", lambda: collect(tmp_path))
    yield opened
    opened.close()


def collect(folder: Path) -> None:
    path = folder / "hip-api.sqlite3"
    write_declarations(DECLARED, path, hip_version="6.4.1", compiler="hipcc 7.0 with clang 21.1", origin="headers")


def no_sandbox() -> None:
    raise SandboxError("no Docker daemon")


def test_a_name_that_only_the_headers_have_means_itself(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """One letter from the `hipMalloc` of the page, so that it looks like a slip."""
    monkeypatch.setitem(
        globals(), "DECLARED", [*DECLARED, Entry("hipMallox", "function", "hip_runtime_api.h", 3, SAYS)]
    )
    result = library.search("hipMallox")
    assert [card.ref for card in result.exact] == ["api:hipMallox"]
    assert result.applied == []


@pytest.mark.parametrize(("query", "said"), [("hipFooBarBaz", True), ("hipMaloc", False), ("hipMalloc*", False)])
def test_a_name_that_nothing_has_is_named(library: Library, query: str, said: bool) -> None:
    note = library.search(f"{query} pools").note or ""
    assert ("Nothing known is named hipFooBarBaz." in note) == said, note


def test_the_card_of_an_exact_name_comes_before_the_sections(library: Library) -> None:
    result = library.search("hipMalloc")
    assert [card.ref for card in result.exact] == ["api:hipMalloc"]
    assert result.results[0].path == "memory.md"
    assert list(result.model_dump()).index("exact") < list(result.model_dump()).index("results")


def test_a_page_of_another_version_than_the_node_is_named(library: Library) -> None:
    for note in (library.search("hipMalloc").note, library.read("hip/memory.md").note):
        assert note
        assert "HIP 6.4.1" in note
        assert "hip is of ROCm 7.2" in note


def test_versions_are_compared_only_where_they_are_of_the_same_thing() -> None:
    node = Node("6.4.43484", "hipcc 7.0.2 with clang 21.1.8")
    rocm, llvm = "https://rocm.docs.amd.com/x", "https://llvm.org/docs/y.html"
    assert difference(node, [Cited("rocm", "6.4.3+ds-4", rocm), Cited("llvm", "1:21.1.8", llvm)]) is None
    assert difference(node, [Cited("notes", "1.2", None), Cited("hipify", "2024-10", rocm)]) is None
    said = difference(node, [Cited("hip", "docs/develop 2024-10 (~6.3)", rocm), Cited("llvm", "1:23.1.4-2", llvm)])
    assert said
    assert "hip is of ROCm 6.3" in said
    assert "llvm is of LLVM 23" in said
    assert difference(None, [Cited("hip", "6.3", rocm)]) is None
    assert version_in("clang 23.1.4") == (23, 1)
    assert version_in("2026-08") is None


def test_headers_are_collected_once_and_only_when_a_hip_name_is_asked_for(tmp_path: Path) -> None:
    calls: list[None] = []

    def collected() -> None:
        collect(tmp_path)
        calls.append(None)

    library = Library(tmp_path / "none", tmp_path / "hip-api.sqlite3", collected)
    assert library.read("gfx942").title.startswith("gfx942")
    assert not calls
    assert library.read("hipMalloc").ref == "api:hipMalloc"
    assert library.read("api:hipMalloc").sections[0].ref == "error:hipErrorOutOfMemory"
    assert len(calls) == 1
    library.close()


def test_without_index_and_sandbox_the_bundled_facts_still_answer(tmp_path: Path) -> None:
    library = Library(tmp_path / "none", tmp_path / "neither", no_sandbox)
    for query in ("gfx942", "v_mfma_f32_32x32x8_f16", "hipErrorIllegalAddress", "SQ_WAVES"):
        result = library.search(query)
        assert result.exact, query
        assert "amdkernel docs build" in (result.note or "")
    corrected = library.search("hipErorIllegalAddress")
    assert corrected.exact[0].name == "hipErrorIllegalAddress"
    assert corrected.applied == ["hipErorIllegalAddress was read as hipErrorIllegalAddress"]
    with pytest.raises(DocumentationError, match="no documentation index"):
        library.search("how do bank conflicts arise")
    with pytest.raises(DocumentationError, match="no documentation index"):
        library.read("hip/memory.md")


@pytest.mark.parametrize(
    ("ref", "near"),
    [
        ("api:hipMaloc", "api:hipMalloc"),
        ("isa:v_pk_fma_f33", "isa:v_pk_fma_f32"),
        ("error:hipErrorNoDevise", "error:hipErrorNoDevice"),
        ("hip/memry.md", "hip/memory.md"),
    ],
)
def test_an_unknown_ref_names_the_nearest(library: Library, ref: str, near: str) -> None:
    with pytest.raises(DocumentationError) as caught:
        library.read(ref)
    assert near in (caught.value.hint or "")


def test_a_card_is_read_in_pieces_and_by_words(library: Library) -> None:
    whole = library.read("arch:gfx942").text
    start: int | None = 0
    pieces = []
    while start is not None:
        piece = library.read("arch:gfx942", start=start, max_chars=500)
        pieces.append(piece.text)
        start = piece.next_start
    assert "".join(pieces) == whole
    found = library.read("arch:gfx942", find="LDS banks").text
    assert "LDS banks" in found
    assert "vector L1" not in found


QUERIES = (
    "hipMemcpyAsync", "gfx942", "v_mfma_f32_32x32x8_f16", "SQ_LDS_BANK_CONFLICT", "v_wmma_f32_16x16x16_f16 and gfx1100",
    "v_*", "hipErrorLaunchFailure hipErrorIllegalAddress", "LDS bank conflicts", "hipDeviceProp_t",
)  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
def test_a_default_answer_with_cards_is_short_and_quick(rocm_index: Index, tmp_path: Path, query: str) -> None:
    library = Library(rocm_index.path, tmp_path / "hip-api.sqlite3", lambda: collect(tmp_path))
    result = library.search(query)
    shown = sum(len(card.text) for card in result.exact) + sum(len(hit.snippet) for hit in result.results)
    assert 0 < len(result.results) <= 5
    assert shown <= 6_500
    assert size(result) <= LIMIT_BYTES
    began = time.process_time()
    for _ in range(5):
        library.search(query)
    assert (time.process_time() - began) / 5 < 0.1, "ten times what it takes on an idle machine"
    library.close()
