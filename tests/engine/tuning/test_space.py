from typing import Any

import pytest

from amdkernel_mcp.engine.tuning.space import Space, TuneOptions, space_of, unused_names
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.languages.hip import Hip
from amdkernel_mcp.launch.lines import read_launch_plan
from amdkernel_mcp.launch.plan import LaunchPlan


def plan(*lines: str) -> LaunchPlan:
    return read_launch_plan("\n".join(f"// amdkernel: {line}" for line in lines))


def space(*lines: str) -> Space:
    return space_of(plan(*lines), file_name="k.hip")


def test_the_default_is_counted_once_and_comes_apart_from_the_others() -> None:
    found = space("tune A=[1,2] B=[x,y]", "tune A=[1,2,2]")
    assert found.size == 4
    assert found.default == {"A": "1", "B": "x"}
    assert [tuple(each.values()) for each in found.others()] == [("1", "y"), ("2", "x"), ("2", "y")]


def test_a_default_outside_the_lists_is_one_more() -> None:
    found = space("build -DA=9", "tune A=[1,2]")
    assert (found.size, found.default, found.holds_default) == (3, {"A": "9"}, False)
    assert len(list(found.others())) == 2


@pytest.mark.parametrize("lines", [[], ["build -DA=1"], ["launch k grid=[1] block=[64]"]])
def test_a_kernel_without_a_line_is_refused_with_an_example(lines: list[str]) -> None:
    with pytest.raises(InputError, match="no `tune` line") as raised:
        space(*lines)
    assert "tune TILE=[16,32,64]" in (raised.value.hint or "")


def test_too_many_names_and_values_are_refused() -> None:
    with pytest.raises(InputError, match="17 names"):
        space(*(f"tune N{k}=[1]" for k in range(17)))
    with pytest.raises(InputError, match="tune A has 257 values"):
        space(f"tune A=[{','.join(map(str, range(257)))}]")


@pytest.mark.parametrize("given", [{"rows": 1}, {"rows": 257}, {"seed": -1}, {"seed": 2**32}])
def test_options_out_of_bounds_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        TuneOptions(**given)


def test_the_line_in_place_of_the_tune_lines_gives_the_flags_of_the_row() -> None:
    lines = ["build -O2", "tune A=[1,-2] B=[x,y]"]
    values = {"A": "-2", "B": "y"}
    pasted = read_launch_plan("// amdkernel: build -O2\n" + Hip().fixed(values))
    assert pasted.flags() == plan(*lines).flags(values)


def test_a_name_that_the_kernel_does_not_use_is_named() -> None:
    source = "// amdkernel: tune A=[1] B=[2] C=[3]\n// amdkernel: launch k grid=[B] block=[64]\nint x = A + AC;"
    assert unused_names(space_of(read_launch_plan(source), file_name="k"), source) == ["C"]
