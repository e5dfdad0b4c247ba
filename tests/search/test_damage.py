"""Files with changed bytes: an answer, or one sentence that says what to do; never an internal error."""

import random
import shutil
from pathlib import Path

import pytest

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.cards.declarations import Entry, open_declarations, write_declarations
from amdkernel_mcp.search.index.build import build_index
from amdkernel_mcp.search.index.index import open_index
from amdkernel_mcp.search.library import Library
from amdkernel_mcp.search.update import Recipe

CORPUS = Path(__file__).parent / "sample_corpus"
POSITIONS = 300
DECLARED = [Entry(f"hipName{n}", "function", "hip.h", n, f"```cpp\nvoid hipName{n}();\n```") for n in range(200)]


def collect() -> None:
    """No sandbox: the file of declarations is there already, or it is not used."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    build_index([CORPUS], folder / "docs.sqlite3")
    write_declarations(DECLARED, folder / "hip-api.sqlite3", hip_version="6.4.1", compiler="clang", origin="a test")
    return folder


@pytest.fixture
def damaged(whole: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "damaged"
    shutil.copytree(whole, folder)
    return folder


def flip(path: Path, at: int, mask: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ mask]))


def ask_everything(folder: Path) -> list[str]:
    """The messages of the errors that are allowed."""
    library = Library(folder / "docs.sqlite3", folder / "hip-api.sqlite3", collect)
    messages = []
    try:
        for query in ("avoiding bank conflicts", "hipName7", "exmple_copy v_*"):
            try:
                library.search(query, limit=50)
            except DocumentationError as error:
                messages.append(f"{error.message} {error.hint}")
        for ref in ("guide/how-to/lds.rst", "guide/porting.md", "api:hipName7"):
            try:
                library.read(ref)
            except DocumentationError as error:
                messages.append(f"{error.message} {error.hint}")
    finally:
        library.close()
    return messages


def test_a_changed_byte_anywhere_in_the_index_is_reported_as_damage(damaged: Path) -> None:
    index = damaged / "docs.sqlite3"
    size = index.stat().st_size
    chosen = random.Random(20261122)
    for at in [*range(100), *(chosen.randrange(size) for _ in range(POSITIONS - 100))]:
        mask = chosen.randrange(1, 256)
        flip(index, at, mask)
        messages = ask_everything(damaged)
        assert any("docs build" in one and "damaged" in one for one in messages), f"byte {at} ^ {mask}: {messages}"
        assert Recipe.of_index(index) == Recipe(), "a damaged recipe is not used"
        flip(index, at, mask)
    open_index(index).close()


def test_declarations_with_a_changed_byte_are_not_used(damaged: Path) -> None:
    path = damaged / "hip-api.sqlite3"
    chosen = random.Random(7)
    for at in (chosen.randrange(path.stat().st_size) for _ in range(60)):
        flip(path, at, 0x41)
        assert open_declarations(path) is None, f"byte {at}"
        ask_everything(damaged)
        flip(path, at, 0x41)
    opened = open_declarations(path)
    assert opened
    opened.close()


def test_an_index_that_is_damaged_after_it_was_opened_is_reported(damaged: Path) -> None:
    library = Library(damaged / "docs.sqlite3", damaged / "hip-api.sqlite3", collect)
    library.index()
    with (damaged / "docs.sqlite3").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (damaged / "docs.sqlite3").stat().st_size)
    with pytest.raises(DocumentationError, match="damaged"):
        library.search("bank conflicts")
    with pytest.raises(DocumentationError, match="damaged"):
        library.read("guide/porting.md")
    library.close()


def test_an_index_cut_short_is_reported(damaged: Path) -> None:
    index = damaged / "docs.sqlite3"
    whole = index.read_bytes()
    for size in (0, 15, 50, 100, 4096, len(whole) // 2, len(whole) - 1):
        index.write_bytes(whole[:size])
        with pytest.raises(DocumentationError, match="damaged"):
            open_index(index)


QUERIES = {
    "many digits": "9" * 5_000, "a long error code": "error " + "9" * 5_000, "other digits": "error code ٣٣٣",
    "a superscript": "error:²", "one long word": "a" * 1_000_000, "a megabyte of words": "ab " * 333_000,
    "control characters": "\x00\x1b[2J\x07 lds \x9b", "stars": "v_" + "*" * 5_000, "letters and stars": "*a" * 2_000,
    "a long target": "gfx" + "9" * 5_000, "brackets": "(" * 10_000 + " lds", "half a character": "\ud800 lds",
    "a long section": "guide/porting.md#" + "x" * 100_000, "a long card": "api:" + "x" * 100_000,
}  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
def test_any_query_is_answered_or_refused_in_a_short_message(whole: Path, name: str) -> None:
    library = Library(whole / "docs.sqlite3", whole / "hip-api.sqlite3", collect)
    messages = []
    for ask in (library.search, library.read):
        try:
            ask(QUERIES[name])
        except DocumentationError as error:
            messages.append(f"{error.message} {error.hint}")
    library.close()
    assert all(len(one) < 1_500 and "\x1b" not in one for one in messages), messages
