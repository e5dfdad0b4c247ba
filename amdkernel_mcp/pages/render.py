"""Templates to HTML. Every value is escaped, and characters that reorder text are spelt out."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amdkernel_mcp.history.lines import REASON_CHARS, begun

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.responses import Response

FOLDER = Path(__file__).resolve().parent
GOOD = frozenset({"ok", "correct", "faster", "compiled", "profiled", "done"})
LEAST_FACTOR = 0.1
"""Of a smaller one the inverse is shown: its zeros would have to be counted."""
UNCLEAR = frozenset({"unverified", "inconclusive", "not_measured", "not_emulated", "cancelled"})

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # `no-referrer` would send the form with the origin `null`
    "cache-control": "no-store",
}
# A kernel could show its reviewer another order of its characters than the compiler reads.
_REORDERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def fragment(name: str, values: Mapping[str, Any]) -> str:
    """A template as text."""
    return _environment().get_template(name).render(values)


def page(name: str, values: Mapping[str, Any], status: int = 200) -> Response:
    """A template as an answer that no browser keeps and that loads nothing from elsewhere."""
    from starlette.responses import HTMLResponse  # a page that is a file needs no server

    return HTMLResponse(fragment(name, values), status_code=status, headers=HEADERS)


@dataclass(frozen=True)
class Standalone:
    """A page as one file, and the policy that is in it: what it may load and run."""

    text: str
    policy: str

    def answer(self) -> Response:
        """The page as a server gives it, under the same policy."""
        from starlette.responses import HTMLResponse

        policy = f"{self.policy}; frame-ancestors 'none'"
        return HTMLResponse(self.text, headers=HEADERS | {"content-security-policy": policy})


def standalone(name: str, values: Mapping[str, Any], *, styles: Sequence[str], scripts: Sequence[str]) -> Standalone:
    """A template as one file that loads nothing: its styles, and scripts that alone its policy lets run.

    styles: files of static/. scripts: texts, each of them ours or a library's.
    """
    from markupsafe import Markup

    hashes = " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts)
    allowed = hashes or "'none'"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; base-uri 'none'; form-action 'none'"
    given = {
        "policy": policy,
        "styles": [Markup((FOLDER / "static" / file).read_text(encoding="utf-8")) for file in styles],
        "scripts": [Markup(text) for text in scripts],
        "icon": Markup((FOLDER / "static" / "icon.svg").read_text(encoding="utf-8")),
    }
    return Standalone(fragment(name, {**values, **given}), policy)


def duration(seconds: float) -> str:
    """`12 s`, `3 min 05 s`, `2 h 05 min`, `3 d 04 h`; static/live.js counts on in the same words."""
    whole = int(seconds)
    for size, unit, below, smaller in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // below:02d} {smaller}"
    return f"{whole} s"


def figure(value: float | int | str | None) -> str:
    """A number with four digits; whole ones with separators."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.2f}" if 100 <= abs(value) < 1e6 else f"{value:.4g}"


def factor(value: float | None, less: str = "slower") -> str:
    """A speed-up: `1.32×`, `210 times slower`."""
    if value is None:
        return ""
    if 0 < value < LEAST_FACTOR:
        return f"{_times(1 / value)} times {less}"
    return f"{_times(value)}×"


def ratio(value: float | None) -> str:
    """Of two counts: `1.32 times more`, `210 times less`, `the same`."""
    if not value or value < 0:
        return factor(value, "less")
    times = factor(max(value, 1 / value)).removesuffix("×")
    return "the same" if times == "1" else f"{times} times {'more' if value > 1 else 'less'}"


def pace(value: float) -> str:
    """A speed-up before what it is over: `1.32× as fast as`, `210 times slower than`."""
    return f"{factor(value)} {'than' if 0 < value < LEAST_FACTOR else 'as fast as'}"


def whole(reason: str) -> str:
    """The reason in a list; older records were cut at this length in the middle of a word."""
    return begun(reason, REASON_CHARS - 1) if len(reason) == REASON_CHARS and reason[-1] != "…" else reason


def _times(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def short(value: float | None) -> str:
    """A number with three digits; whole ones with separators."""
    if value is None or float(value).is_integer():
        return figure(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def size(count: float | None) -> str:
    """`4.19 MB`: powers of 1000, as bandwidths have."""
    if count is None:
        return "–"
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.3g} {unit}"
    return f"{count:.0f} B"


def percent(share: float | None) -> str:
    """`62 %`, `0.4 %`, and `100 %` for no more than all."""
    if share is None:
        return "–"
    return f"{100 * share:.0f} %" if share >= 0.0995 or not share else f"{100 * share:.2g} %"


def before_now(seconds: float) -> str:
    """The time of so many seconds ago, as records have it."""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="seconds")


def moment(created: str) -> str:
    """`23 Nov 02:49` of a record's time."""
    at = datetime.fromisoformat(created)
    return f"{at.day} {at:%b %H:%M}"


def tone(verdict: str) -> str:
    """The class of a verdict: `good`, `unclear` or `bad`."""
    return "good" if verdict in GOOD else "unclear" if verdict in UNCLEAR else "bad"


def mark(verdict: str) -> str:
    """A sign that says the same without colour."""
    return {"good": "✓", "unclear": "?", "bad": "✕"}[tone(verdict)]


def name_of(user: str) -> str:
    """A user as people write it."""
    return user.removeprefix("user:")


def spelt_out(value: Any) -> Any:
    """Text without characters that are not seen or that reorder others; they appear as `\\u202e`."""
    if type(value) is str:
        return _REORDERS.sub(lambda found: found[0].encode("unicode_escape").decode(), value)
    return "" if value is None else value


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=spelt_out,
    )
    made.filters |= {
        "duration": duration,
        "figure": figure,
        "factor": factor,
        "ratio": ratio,
        "pace": pace,
        "whole": whole,
        "short": short,
        "size": size,
        "percent": percent,
        "before_now": before_now,
        "moment": moment,
        "tone": tone,
        "mark": mark,
        "name_of": name_of,
    }
    return made
