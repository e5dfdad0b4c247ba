"""When a GPU is reserved: every week at hours of some days, or once from a moment to another. All times are UTC."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WEEKLY = re.compile(
    rf"(?P<first>{'|'.join(_DAYS)})(?:-(?P<last>{'|'.join(_DAYS)}))? (?P<begin>\d\d:\d\d)-(?P<end>\d\d:\d\d)"
)
_ONCE = re.compile(r"(?P<begin>\d{4}-\d\d-\d\d \d\d:\d\d) to (?P<end>\d{4}-\d\d-\d\d \d\d:\d\d)")
FORMS = "`mon-fri 08:00-18:00`, `sat 00:00-24:00` or `2026-12-01 08:00 to 2026-12-03 18:00`, in UTC"


@dataclass(frozen=True)
class ReservedTime:
    """One window: of some days of each week between two minutes of the day, or between two moments since 1970."""

    text: str
    days: frozenset[int]
    begin: float
    end: float

    def holds(self, now_s: float) -> bool:
        """Whether a moment, in seconds since 1970, is in it; its end is not."""
        if not self.days:
            return self.begin <= now_s < self.end
        now = datetime.fromtimestamp(now_s, UTC)
        return now.weekday() in self.days and self.begin <= now.hour * 60 + now.minute < self.end


def read_time(text: str) -> ReservedTime:
    """The window that a setting says. Raises ValueError."""
    begin: float
    end: float
    if found := _WEEKLY.fullmatch(text):
        first, last = _DAYS.index(found["first"]), _DAYS.index(found["last"] or found["first"])
        days = frozenset((first + more) % 7 for more in range((last - first) % 7 + 1))
        begin, end = _minutes(found["begin"]), _minutes(found["end"])
    elif found := _ONCE.fullmatch(text):
        days, begin, end = frozenset(), _moment(found["begin"]), _moment(found["end"])
    else:
        raise ValueError(f"{text!r} is none of {FORMS}")
    if begin >= end:
        raise ValueError(f"{text!r} ends before it begins; over midnight it is two: one to 24:00, one from 00:00")
    return ReservedTime(text, days, begin, end)


def hold(windows: Sequence[ReservedTime], now_s: float) -> bool:
    """Whether a reservation with these windows holds; one without any always does."""
    return not windows or any(each.holds(now_s) for each in windows)


def _minutes(text: str) -> int:
    hours, minutes = map(int, text.split(":"))
    if hours * 60 + minutes > 24 * 60 or minutes > 59:
        raise ValueError(f"{text!r} is later than 24:00")
    return hours * 60 + minutes


def _moment(text: str) -> float:
    return datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=UTC).timestamp()
