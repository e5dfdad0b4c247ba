"""When a reservation of a GPU holds."""

from datetime import UTC, datetime

import pytest

from amdkernel_mcp.hardware.reserved_times import hold, read_time


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


MONDAY, SATURDAY = "2026-11-30", "2026-11-28"


@pytest.mark.parametrize(
    ("window", "moment", "holds"),
    [
        ("mon-fri 08:00-18:00", f"{MONDAY} 08:00", True),
        ("mon-fri 08:00-18:00", f"{MONDAY} 17:59:59", True),
        ("mon-fri 08:00-18:00", f"{MONDAY} 18:00", False),
        ("mon-fri 08:00-18:00", f"{SATURDAY} 12:00", False),
        ("sat 00:00-24:00", f"{SATURDAY} 23:59", True),
        ("fri-mon 00:00-24:00", f"{SATURDAY} 12:00", True),
        ("fri-mon 00:00-24:00", "2026-12-02 12:00", False),
        ("2026-12-01 08:00 to 2026-12-03 18:00", "2026-12-02 03:00", True),
        ("2026-12-01 08:00 to 2026-12-03 18:00", "2026-12-03 18:00", False),
    ],
)
def test_a_window_holds_from_its_begin_to_before_its_end(window: str, moment: str, holds: bool) -> None:
    assert read_time(window).holds(at(moment)) is holds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "monday 08:00-18:00",
        "mon 18:00-08:00",
        "mon 08:00-24:01",
        "mon 08:60-09:00",
        "2026-02-30 08:00 to 2026-03-01 08:00",
    ],
)
def test_what_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_time(text)


def test_without_windows_a_reservation_always_holds() -> None:
    assert hold([], 0.0)
