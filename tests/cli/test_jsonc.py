"""Entries of JSON files with comments: put and removed, and nothing else changes."""

import pytest

from amdkernel_mcp.cli import jsonc

CASES = [
    "",
    "{}",
    "{ }\n",
    '{"a": 1}',
    '{\n  "a": "} // no comment", // {\n  "b": [1, 2,], /* "t": { */\n}\n',
    '{"t": {}}',
    '{"t": {"other": {"x": [1]}}}',
    '{"t": {"other": 1, },}',
    '{"t": {"ours": {"old": true}, "other": 1}}',
    '{"t": {"first": 1, "ours": 2, "last": {"ours": 3}}}',
]


@pytest.mark.parametrize("text", CASES)
def test_an_entry_is_put_and_removed_and_the_rest_stays(text: str) -> None:
    before = jsonc.parse(text)
    added = jsonc.put(text, "t", "ours", {"new": ["ä", "//"]})
    table = {**before.get("t", {}), "ours": {"new": ["ä", "//"]}}
    assert jsonc.parse(added) == {**before, "t": table}
    del table["ours"]
    assert jsonc.parse(jsonc.remove(added, "t", "ours")) == {**before, "t": table}
    for comment in ("// {", '/* "t": { */'):
        assert (comment in text) == (comment in added)


@pytest.mark.parametrize("text", ["[", '{"a": }', '{"a": 1 "b": 2}', '{"a": 1,, "b": 2}', "{'a': 1}"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"line \d"):
        jsonc.parse(text)
