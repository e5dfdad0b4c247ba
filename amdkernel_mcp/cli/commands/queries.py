"""Many searches at once: JSON lines in, JSON lines out."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from amdkernel_mcp.errors import AmdkernelError, InputError
from amdkernel_mcp.results.documentation import SearchResult


def answer_queries(file: Path, search: Callable[[str, list[str]], SearchResult]) -> None:
    """Print, for each `{"id", "query", "also"}` line of `file`, the search's answer with that id, as one line.

    A line that cannot be parsed and a query that cannot be searched get no results and the reason; the lines after
    them are answered all the same. Raises InputError for a file that cannot be read.
    """
    for identity, query, also, reason in _read(file):
        answer: dict[str, object] = {"query": query, "results": []}
        try:
            if not reason:
                answer = json.loads(search(query, also).model_dump_json(by_alias=True))
        except AmdkernelError as error:
            reason = error.message
        said = {"error": reason} if reason else {}
        line = json.dumps({"id": identity, **answer, **said}, ensure_ascii=False)
        sys.stdout.write(line.encode("utf-8", "replace").decode("utf-8") + "\n")  # a lone surrogate cannot be written


def _read(file: Path) -> Iterator[tuple[object, str, list[str], str]]:
    """(id, query, other wordings, what is wrong with the line) of every line that is not empty."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"the queries cannot be read: {error.strerror}", file=str(file)) from None
    # Not splitlines: JSON strings may contain U+2028 and other separators.
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        wrong = f'line {number} is not a JSON object with "id" and "query"'
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict):
            yield None, "", [], wrong
        elif not isinstance(entry.get("query"), str) or "id" not in entry:
            yield entry.get("id"), str(entry.get("query") or ""), [], wrong
        else:
            also = entry.get("also", [])
            strings = isinstance(also, list) and all(isinstance(one, str) for one in also)
            yield entry["id"], entry["query"], also if strings else [], "" if strings else f"{wrong}; `also` is a list"
