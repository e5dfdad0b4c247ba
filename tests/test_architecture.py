"""The page that says where everything is names only paths that exist, and the glossary is in order."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
ROOMS = ("amdkernel_mcp", "docs_index", "sandbox", "scripts", "tests", "tools")


def paths() -> list[str]:
    spans = re.findall(r"`([^`\n]+)`", PAGE)
    return [span for span in spans if "/" in span and span.split("/")[0] in ROOMS]


def test_every_path_of_the_architecture_page_exists() -> None:
    assert [path for path in paths() if not (ROOT / path).exists()] == []


def test_the_table_answers_at_least_twenty_questions_with_a_path() -> None:
    rows = re.findall(r"^\| (?:Where|Which|What)\b[^|]*\? \|([^|]*)\|$", PAGE, re.MULTILINE)
    assert len(rows) >= 20
    assert [row for row in rows if not any(path in row for path in paths())] == []


def test_the_glossary_is_sorted_and_has_each_word_once() -> None:
    page = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    words = [row.casefold() for row in re.findall(r"^\| ([^|]+) \| [^|]+ \|$", page, re.MULTILINE) if row != "word"]
    words = [word for word in words if not word.startswith("-")]
    assert len(words) > 50
    assert words == sorted(set(words))
