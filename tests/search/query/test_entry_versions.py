"""One entry for a symbol: the newest version first, others folded into it and named."""

import json
from collections.abc import Iterator

import pytest

from amdkernel_mcp.search.index.build import build_index
from amdkernel_mcp.search.index.index import Index, open_index
from amdkernel_mcp.search.query.evaluate import Gold, Question, evaluate
from amdkernel_mcp.search.query.filters import SearchFilters
from amdkernel_mcp.search.query.query import Switches
from amdkernel_mcp.search.query.same_entry import compared
from amdkernel_mcp.search.query.search import search
from amdkernel_mcp.search.versions import readable, version_in

PAGES = {
    "hip-api/memory.md": "# Memory\n\n## hipQuokka\n\nMakes a quokka of n bytes. The old words say more of quokka.\n\n"
    "## hipQuokka\n\nAn overload: makes a quokka in a stream.\n",
    "hip-api-10/all.md": "# API\n\n## hipQuokka\n\nMakes a quokka.\n",
}


@pytest.fixture(scope="module")
def two_versions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index of one function in two versions of the API, in one of them with an overload."""
    root = tmp_path_factory.mktemp("versions")
    for name, text in PAGES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    rows = [{"source": "hip-api", "version": "7.2.4-1~exp2"}, {"source": "hip-api-10", "version": "10.0.0"}]
    (root / "SOURCES.json").write_text(json.dumps(rows))
    build_index([root], root / "i.db")
    with open_index(root / "i.db") as index:
        yield index


def test_versions_of_an_entry_are_one_result_with_the_newest_shown(two_versions: Index) -> None:
    first, *others = search(two_versions, "hipQuokka").results
    assert (first.source, first.version) == ("hip-api-10", "10.0.0")
    assert first.snippet.startswith("Makes a quokka.")
    assert first.snippet.splitlines()[-1].startswith("also in 7.2.4 (differs): hip-api/memory.md#")
    assert [one.source for one in others] == ["hip-api"], "the overload is an entry of its own"


def test_the_version_that_was_asked_for_is_shown(two_versions: Index) -> None:
    first = search(two_versions, "hipQuokka", filters=SearchFilters.of(None, None, "7.2")).results[0]
    assert (first.source, first.version) == ("hip-api", "7.2.4")
    assert first.snippet.splitlines()[-1] == "also in 10.0.0 (differs): hip-api-10/all.md#hipquokka"


def test_a_folded_version_answers_a_question(two_versions: Index) -> None:
    gold = [Gold(source="hip-api", path="memory.md", heading="hipQuokka")]
    asked = [Question(id="1", query="hipQuokka", gold=gold)]
    assert evaluate(two_versions, asked).overall.at1 == 1.0
    apart = evaluate(two_versions, asked, switches=Switches(versions=False))
    assert apart.overall.questions == 1


@pytest.mark.parametrize(
    ("raw", "shown", "version"),
    [
        ("1:24~++20261025103442+7e3c57157096-1~exp1", "LLVM 24, October 2026", (24, 0)),
        ("7.2.4+dfsg-1~exp1", "7.2.4", (7, 2)),
        ("1:23.1.4-2", "23.1.4", (23, 1)),
        ("clang 23.1.4", "clang 23.1.4", (23, 1)),
        ("develop 2025-08 (~7.0)", "develop 2025-08 (~7.0)", (7, 0)),
        ("2024-10", "2024-10", None),
    ],
)
def test_a_version_is_shown_as_a_person_writes_it(raw: str, shown: str, version: tuple[int, int] | None) -> None:
    assert readable(raw) == shown
    assert version_in(raw) == version_in(shown) == version


OLD = "```c\nhipError_t hipQuokka(void* at, unsigned int flags __dparm(0), hipStream_t stream);\n```\n\nMakes a quokka."
NEW = "`hipQuokka(at, flags)`\n\nThe host calls hipQuokka() once.\n\n    hipError_t hipQuokka({})"


@pytest.mark.parametrize(
    ("parameters", "verdict"),
    [
        ("void * at, unsigned flags, hipStream_t stream", "same"),
        ("void *at, unsigned int flags = 0, hipStream_t stream", "same"),
        ("void * at, unsigned flags", "differs"),
        ("int * at, unsigned flags, hipStream_t stream", "differs"),
        ("", "differs"),
    ],
)
def test_versions_are_the_same_where_their_declarations_are(parameters: str, verdict: str) -> None:
    assert compared("hipQuokka", NEW.format(parameters), OLD) == verdict


def test_entries_without_a_declaration_are_compared_by_their_words() -> None:
    assert compared("SQ_WAVES", "Number of waves.", "number of  waves") == "same"
    assert compared("SQ_WAVES", "Number of waves.", "Number of wave64s.") == "differs"
    assert compared("hipReset", "hipError_t hipReset(void)", "hipError_t hipReset();") == "same"
