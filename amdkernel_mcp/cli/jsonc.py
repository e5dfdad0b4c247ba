"""Changes one entry of a JSON file with comments; every other character of the file stays as it is."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'"(?:\\.|[^"\\])*"|,(?=\s*[}\]])')
_STEP = "  "


@dataclass(frozen=True)
class _Member:
    key: str
    start: int
    value: int
    end: int


def parse(text: str) -> Any:
    """The document. Raises ValueError, with the line as `lineno`, for anything but JSON with comments."""
    return json.loads(_plain(text)) if text.strip() else {}


def put(text: str, table: str, name: str, entry: object) -> str:
    """The text with `entry` as `name` in the object `table` of the document."""
    text = text if text.strip() else "{}\n"
    plain = _plain(text)
    root = plain.index("{")
    found = _find(plain, root, table)
    if found is None:
        return _insert(text, plain, root, table, {name: entry}, depth=1)
    ours = _find(plain, found.value, name)
    if ours is None:
        return _insert(text, plain, found.value, name, entry, depth=2)
    return text[: ours.value] + _written(entry, depth=2) + text[ours.end :]


def remove(text: str, table: str, name: str) -> str:
    """The text without the entry `name` of the object `table`, which must be there."""
    plain = _plain(text)
    found = _find(plain, plain.index("{"), table)
    members = list(_members(plain, found.value)) if found else []
    at = [member.key for member in members].index(name)
    if at + 1 < len(members):
        return text[: members[at].start] + text[members[at + 1].start :]
    if at:
        return text[: members[at - 1].end] + text[members[at].end :]
    assert found is not None
    return f"{text[: found.value]}{{}}{text[found.end :]}"


def _plain(text: str) -> str:
    """The text with comments and trailing commas as blanks, so that places are the same."""
    text = _TOKEN.sub(lambda hit: hit[0] if hit[0][0] == '"' else re.sub(r"[^\n]", " ", hit[0]), text)
    return _TRAILING_COMMA.sub(lambda hit: " " if hit[0] == "," else hit[0], text)


def _members(plain: str, start: int) -> Iterator[_Member]:
    decoder, at = json.JSONDecoder(), _skip(plain, start + 1)
    while plain[at] != "}":
        key, end = decoder.raw_decode(plain, at)
        value = _skip(plain, plain.index(":", end) + 1)
        _, stop = decoder.raw_decode(plain, value)
        yield _Member(key, at, value, stop)
        at = _skip(plain, stop)
        at = _skip(plain, at + 1) if plain[at] == "," else at


def _find(plain: str, start: int, key: str) -> _Member | None:
    return next((member for member in _members(plain, start) if member.key == key), None)


def _skip(plain: str, at: int) -> int:
    while plain[at].isspace():
        at += 1
    return at


def _insert(text: str, plain: str, start: int, key: str, value: object, *, depth: int) -> str:
    members = list(_members(plain, start))
    member = f"\n{_STEP * depth}{json.dumps(key)}: {_written(value, depth)}"
    if members:
        return f"{text[: members[-1].end]},{member}{text[members[-1].end :]}"
    return f"{text[: start + 1]}{member}\n{_STEP * (depth - 1)}{text[start + 1 :].lstrip(' ')}"


def _written(value: object, depth: int) -> str:
    return json.dumps(value, indent=len(_STEP), ensure_ascii=False).replace("\n", f"\n{_STEP * depth}")
