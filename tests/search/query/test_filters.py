"""What the asker wants the answer to be about: names by wildcard, one GPU, one ROCm version."""

import json
from collections.abc import Iterator

import pytest

from amdkernel_mcp.search.index.build import build_index
from amdkernel_mcp.search.index.families import families_in
from amdkernel_mcp.search.index.index import Index, open_index
from amdkernel_mcp.search.query.filters import ANYTHING, SearchFilters
from amdkernel_mcp.search.query.query import Switches
from amdkernel_mcp.search.query.search import find

PAGES = {
    "isa/gfx90a.md": "# Instructions of gfx90a\n\n## Loads\n\nLoads take glc, slc. v_example_f32_16x16 too.\n",
    "isa/gfx940.md": "# Instructions of gfx942\n\n## Loads\n\nLoads take sc0, sc1, nt. v_example_f32_32x32 too.\n",
    "isa/common.md": "# All GPUs\n\n## Waiting for loads\n\nA load is waited for with s_waitcnt, as v_other_f16 is.\n",
    "old/notes.md": "# Notes\n\n## Loads\n\nWhat changed about a load: quokka.\n",
    "new/notes.md": "# Notes\n\n## Loads\n\nWhat is new about a load: quokka!\n",
}


@pytest.fixture(scope="module")
def two_gpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index of pages about two GPUs, and of notes to two versions."""
    root = tmp_path_factory.mktemp("wanted")
    for name, text in PAGES.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    versions = {"isa": None, "old": "6.4.3", "new": "7.0.2"}
    rows = [{"source": name, "version": version} for name, version in versions.items()]
    (root / "SOURCES.json").write_text(json.dumps(rows))
    build_index([root], root / "i.db")
    with open_index(root / "i.db") as index:
        yield index


def paths(index: Index, query: str, filters: SearchFilters = ANYTHING) -> list[str]:
    return [f"{one.source}/{one.path}" for one in find(index, query, limit=5, filters=filters).found]


@pytest.mark.parametrize(
    ("text", "families"),
    [
        ("AMDGPU/AMDGPUAsmGFX940.rst", {"gfx942"}),
        ("MI300X and MI250", {"gfx942", "gfx90a"}),
        ("CDNA 3", {"gfx942"}),
        ("gfx906", {"gfx906"}),
        ("Memory Model GFX6-GFX9", {"gfx6", "gfx9"}),
        ("semi3000 of gfxless", set()),
    ],
)
def test_a_text_names_families_of_gpus(text: str, families: set[str]) -> None:
    assert families_in(text) == families


@pytest.mark.parametrize(
    ("arch", "first"), [("gfx942", "isa/gfx940.md"), ("MI300X", "isa/gfx940.md"), ("gfx90a", "isa/gfx90a.md")]
)
def test_pages_about_another_gpu_yield(two_gpus: Index, arch: str, first: str) -> None:
    for query, wanted in (("what loads take", SearchFilters(arch=arch)), (f"what loads take on {arch}", ANYTHING)):
        found = paths(two_gpus, query, wanted)
        assert found[0] == first
    lexical = Switches(embeddings=False)  # which counts as a share of the best score
    plain, scores = (
        {
            one.path: one.passage.score
            for one in find(
                two_gpus, "what loads take", limit=5, filters=SearchFilters(arch=gpu), switches=lexical
            ).found
        }
        for gpu in ("", arch)
    )
    assert scores["common.md"] == plain["common.md"], "a page about no GPU is as good as ever"


@pytest.mark.parametrize(
    ("version", "first"), [("6.4", "old/notes.md"), ("7.0.2", "new/notes.md"), ("7", "new/notes.md")]
)
def test_a_source_of_another_version_yields(two_gpus: Index, version: str, first: str) -> None:
    assert paths(two_gpus, "quokka load", SearchFilters(rocm_version=version))[0] == first


def test_a_wildcard_stands_for_all_names_that_fit(two_gpus: Index) -> None:
    findings = find(two_gpus, "v_example_*", limit=5)
    assert {one.path for one in findings.found} == {"gfx90a.md", "gfx940.md"}
    assert "v_example_f32_32x32" in " ".join(findings.applied)
    assert find(two_gpus, "v_example_*_32x32", limit=5).found[0].path == "gfx940.md"


@pytest.mark.parametrize("query", ["load *", "v_* load", "a*b* load", "[a-z]* load", "nothing_like_* load"])
def test_a_wildcard_that_fits_nothing_is_plain_text(two_gpus: Index, query: str) -> None:
    findings = find(two_gpus, query, limit=5)
    assert findings.found
    assert not findings.applied
