"""Differences of kernel files are right, and bounded whatever the files hold."""

import pytest

from amdkernel_mcp.history.difference import MOST_CHARS, unified
from amdkernel_mcp.history.lines import changed_lines

NAMES = ("a/k.hip", "b/k.hip")


def test_a_change_far_below_the_start_has_its_line_numbers() -> None:
    lines = [f"line {n}" for n in range(1, 101)]
    after = [*lines[:49], "new", *lines[50:]]
    diff = unified("\n".join(lines), "\n".join(after), NAMES).splitlines()
    assert diff[:3] == ["--- a/k.hip", "+++ b/k.hip", "@@ -47,7 +47,7 @@"]
    assert [line for line in diff[3:] if not line.startswith(" ")] == ["-line 50", "+new"]


@pytest.mark.parametrize(
    ("before", "after", "body"),
    [("", "a", ["+a"]), ("a", "", ["-a"]), ("a", "a", []), ("a\nb", "b", ["-a"]), ("a\na", "a\na\na", ["+a"])],
)
def test_small_files(before: str, after: str, body: list[str]) -> None:
    diff = unified(before, after, NAMES).splitlines()[3:]
    assert [line for line in diff if not line.startswith(" ")] == body


def test_files_that_share_nothing_are_not_compared_line_by_line() -> None:
    one = "\n".join(f"{n % 97} {n % 89}" for n in range(200_000))
    other = "\n".join(f"{n % 89} {n % 97}" for n in range(200_000, 0, -1))
    assert unified(one, other, NAMES) == "a/k.hip and b/k.hip differ in more than 3000 lines from line 1 on"


def test_a_long_line_is_cut() -> None:
    assert len(unified("x" * 500_000, "y" * 500_000, NAMES)) < MOST_CHARS + 100


def test_changed_lines_are_counted() -> None:
    assert changed_lines(b"a\nb\nc", b"a\nc\nd\nd") == "+2 -1"
    assert changed_lines(b"a\nb", b"b\na") == "+0 -0"
