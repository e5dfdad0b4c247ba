"""Embeddings: the real word vectors, at the build only."""

from pathlib import Path

import pytest

from amdkernel_mcp.search.index.build import build_index
from amdkernel_mcp.search.index.embeddings import load_model, similarity
from amdkernel_mcp.search.index.index import open_index
from amdkernel_mcp.search.query.query import Switches
from amdkernel_mcp.search.query.search import find

PAGE = """# Animals

## First

The dog and the puppy sleep. A kitten and a cat purr.

## Second

A bicycle and a car drive along the road. The truck waits.

## Third

Words: animal animal vehicle vehicle.
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A page whose sections are about animals and about vehicles."""
    (tmp_path / "s").mkdir()
    (tmp_path / "s/a.md").write_text(PAGE)
    (tmp_path / "s/b.md").write_text(PAGE.replace("# Animals", "# Again"))
    return tmp_path / "s"


def test_a_section_is_similar_to_words_that_it_does_not_hold(corpus: Path) -> None:
    assert load_model() is not None, "the extra [embeddings] is among the development requirements"
    build_index([corpus], corpus / "i.db")
    with open_index(corpus / "i.db") as index:
        sections = {row[1]: row[0] for row in index.connection.execute("SELECT id, below FROM sections")}
        near = similarity(index.connection, ["animal"], sections.values())
    assert near is not None
    assert near[sections['["First"]']] > near[sections['["Second"]']]
    assert all(-1.01 <= one <= 1.01 for one in near.values())


def test_without_the_extra_everything_works_without_it(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_index([corpus], corpus / "with.db")
    monkeypatch.setattr("amdkernel_mcp.search.index.build.load_model", lambda: None)
    build_index([corpus], corpus / "without.db")
    with open_index(corpus / "without.db") as plain, open_index(corpus / "with.db") as full:
        assert similarity(plain.connection, ["animal"], [1]) is None
        lexical = [one.passage for one in find(plain, "a dog", limit=5).found]
        assert lexical == [
            one.passage for one in find(full, "a dog", limit=5, switches=Switches(embeddings=False)).found
        ]


def test_a_section_is_near_to_what_is_asked_of_it() -> None:
    model = load_model()
    assert model is not None
    plain, asked, wordless = model.section_vectors(
        ["registers and waves"] * 2 + [""], ["", "occupancy of a kernel", ""]
    )
    (question,) = model.vectors(["occupancy"])
    assert plain is not None
    assert asked is not None
    assert question is not None
    assert wordless is None

    def likeness(section: bytes) -> int:
        pairs = zip(memoryview(section).cast("b"), memoryview(question[0]).cast("b"), strict=True)
        return sum(left * right for left, right in pairs)

    assert likeness(asked) > likeness(plain)
