"""What an index says of its own sources."""

from datetime import date
from pathlib import Path

import pytest

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.documented import documented
from amdkernel_mcp.search.index.build import build_index
from amdkernel_mcp.search.update import Recipe

TODAY = date(2026, 11, 27)


def test_each_source_has_its_version_and_age(tmp_path: Path) -> None:
    versions = {"dated": "latest, 2026-11-20", "llvm": "1:24~++20260525103442+7e3c57157096-1~exp1", "plain": "7.2.4"}
    rows = []
    for name, version in versions.items():
        (tmp_path / "docs" / name).mkdir(parents=True)
        (tmp_path / "docs" / name / "page.md").write_text(f"# Page of {name}\n\nText of {name} that says something.\n")
        rows.append(f'{{"source": "{name}", "version": "{version}", "licence": "MIT"}}')
    (tmp_path / "docs" / "SOURCES.json").write_text(f"[{', '.join(rows)}]")
    recipe = Recipe(built="2026-11-27", not_reached=("hip: docs.example cannot be reached",))
    build_index([tmp_path / "docs"], tmp_path / "index.sqlite3", recipe=recipe.dump())
    found = documented(tmp_path / "index.sqlite3", TODAY)
    assert found.sources == (
        ("dated", "latest, 2026-11-20", 7),
        ("llvm", "LLVM 24, May 2026", 186),
        ("plain", "7.2.4", None),
    )
    assert found.text == (
        "dated latest, 2026-11-20, 7 days old, llvm LLVM 24, May 2026, 6 months old, plain 7.2.4 (built 2026-11-27);"
        " not reached: hip: docs.example cannot be reached"
    )


def test_an_index_without_embeddings_says_how_to_have_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "page.md").write_text("# Notes\n\nSomething about waves and registers.\n")
    build_index([tmp_path / "notes"], tmp_path / "with.sqlite3")
    monkeypatch.setattr("amdkernel_mcp.search.index.build.load_model", lambda: None)
    build_index([tmp_path / "notes"], tmp_path / "without.sqlite3")
    assert "embeddings" not in documented(tmp_path / "with.sqlite3", TODAY).text
    assert "pip install 'amdkernel-mcp[embeddings]'" in documented(tmp_path / "without.sqlite3", TODAY).text


def test_a_file_that_is_no_index_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "index.sqlite3").write_text("no database at all, but long enough to be looked at")
    with pytest.raises(DocumentationError):
        documented(tmp_path / "index.sqlite3", TODAY)
