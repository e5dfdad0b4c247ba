"""Many searches at once: JSON lines in, JSON lines out."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.results import SearchResult


def answer_queries(file: Path, search: Callable[[str], SearchResult]) -> None:
    """Print, for each `{"id", "query"}` line of `file`, the search's answer with that id, as one line.

    Raises InputError with the line's number before anything is printed when one line is not of this form.
    """
    for identity, query in _read(file):
        answer = json.loads(search(query).model_dump_json(by_alias=True))
        sys.stdout.write(json.dumps({"id": identity, **answer}, ensure_ascii=False) + "\n")


def _read(file: Path) -> list[tuple[str | int, str]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"the queries cannot be read: {error.strerror}", file=str(file)) from None
    except UnicodeDecodeError:
        raise InputError("the queries are not UTF-8 text", file=str(file)) from None
    queries = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            queries.append((entry["id"], entry["query"]))
            if not isinstance(entry["query"], str):
                raise TypeError
        except (ValueError, KeyError, TypeError):
            raise InputError(
                'a line of queries is a JSON object with "id" and "query"', file=str(file), line=number
            ) from None
    return queries
