"""What people ask where a section is the answer, in other words than its own: docs_index/section_questions.

Engineers ask for "shared memory" where a page says LDS. The questions were written from the sections alone, without
sight of the questions that search is measured with. A section that is not in the files is found by its own words.
"""

from collections.abc import Mapping
from functools import lru_cache

from amdkernel_mcp.bundled import folder

Questions = Mapping[tuple[str, str], Mapping[str, str]]
"""By source and path of the page: the questions by anchor of the section."""


@lru_cache(maxsize=1)
def load_questions() -> Questions:
    """All files: a line `= PATH` for each page, then a line `ANCHOR<tab>QUESTIONS` for each section."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for file in sorted((folder("docs_index") / "section_questions").glob("*.tsv")):
        page: dict[str, str] = {}
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith("= "):
                page = found.setdefault((file.stem, line[2:]), {})
            else:
                anchor, _, questions = line.partition("\t")
                page[anchor] = questions
    return found
