"""Numbers of things in sentences."""

import pytest

from amdkernel_mcp.counted import counted


@pytest.mark.parametrize(("number", "said"), [(0, "0 cases"), (1, "1 case"), (2, "2 cases"), (1216, "1216 cases")])
def test_only_one_thing_is_singular(number: int, said: str) -> None:
    assert counted(number, "case") == said


def test_irregular_plurals_and_thousands() -> None:
    assert counted(2, "pass", "passes") == "2 passes"
    assert counted(1216, "workgroup", grouped=True) == "1,216 workgroups"
