"""Values by the digest of what they depend on."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from amdkernel_mcp.kept_values import KeptValues, name_of


@dataclass(frozen=True)
class Part:
    """Something that a value depends on."""

    name: str
    data: bytes = b""
    more: tuple[bytes, ...] = ()


def test_equal_content_has_one_name_and_every_difference_another():
    given = [
        (Part("a", b"bc"), "d"),
        (Part("a", b"b"), "cd"),
        (Part("a", b"bc", (b"d",)),),
        (Part("a", b"", (b"b", b"c")), "d"),
        (Part("a", b"", (b"bc",)), "d"),
        ({"a": b"bc"}, "d"),
        ([1], "d"),
        (["1"], "d"),
        (None,),
    ]
    assert name_of(Part("a", b"bc"), {"x": 1, "y": 2}) == name_of(Part("a", b"bc"), {"y": 2, "x": 1})
    assert len({name_of(*each) for each in given}) == len(given)


@pytest.mark.parametrize("damage", [lambda content: content[:-1], lambda content: content[:40] + b"x" + content[41:]])
def test_a_value_that_was_cut_or_changed_is_not_used(tmp_path: Path, damage) -> None:
    kept = KeptValues(tmp_path, TypeAdapter(dict[str, int]), max_total_bytes=1 << 20)
    name = name_of("a")
    assert kept.get(name) is None
    assert kept.put(name, {"a": 1, "b": 2}) is None
    assert kept.get(name) == {"a": 1, "b": 2}
    file = tmp_path / name
    file.write_bytes(damage(file.read_bytes()))
    assert kept.get(name) is None
    assert not file.exists()
