"""What people ask where a section is the answer, in other words than its own: docs_index/section_questions.

Engineers ask for "shared memory" where a page says LDS. The questions were written from the sections alone, without
sight of the questions that search is measured with. A section that is not in the files is found by its own words.

A page keeps its questions when it changes its format: LLVM's `AMDGPUUsage.rst` became `AMDGPUUsage.md`. An entry of an
API keeps them in every version of its source, on whichever page it is: `hip-api-10` is a version of `hip-api`.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from amdkernel_mcp.bundled import folder

Questions = Mapping[tuple[str, str], Mapping[str, str]]
"""By source and path of the page without its suffix: the questions by anchor of the section."""
_VERSION_OF_SOURCE = re.compile(r"-\d+$")


def questions_of(questions: Questions, source: str, path: str, anchor: str) -> str:
    """The questions that a section answers; empty where nothing is known."""
    found = questions.get((source, stem_of(path)), {}).get(anchor, "")
    family = _VERSION_OF_SOURCE.sub("", source)
    return found or (_of_entries(family).get(anchor, "") if family != source else "")


def stem_of(path: str) -> str:
    """A page's path without the suffix of its format."""
    return path[: path.rindex(".")] if "." in path.rsplit("/", 1)[-1] else path


@lru_cache(maxsize=4)
def _of_entries(source: str) -> Mapping[str, str]:
    """The questions of all pages of a source by anchor."""
    pages = (sections for (name, _), sections in load_questions().items() if name == source)
    return {anchor: asked for sections in pages for anchor, asked in sections.items()}


@lru_cache(maxsize=1)
def load_questions() -> Questions:
    """All files: a line `= PATH` for each page, then a line `ANCHOR<tab>QUESTIONS` for each section."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for file in sorted((folder("docs_index") / "section_questions").glob("*.tsv")):
        page: dict[str, str] = {}
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith("= "):
                page = found.setdefault((file.stem, stem_of(line[2:])), {})
            else:
                anchor, _, questions = line.partition("\t")
                page[anchor] = questions
    return found
