"""The pages of a profile and of a comparison inside a chat: an MCP App, which the client shows next to the answer.

Its shell is one file that loads nothing. The client hands it the answer of the tool, and it reads the page of its
attempt through the client, as the user whom the client speaks for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from amdkernel_mcp.pages.compare import compared
from amdkernel_mcp.pages.profile import recorded_page
from amdkernel_mcp.pages.render import FOLDER, standalone
from amdkernel_mcp.profiling.kept_details import kept_details

if TYPE_CHECKING:
    from amdkernel_mcp.engine.engine import Engine

STYLES = ("page.css", "report.css")
_THEMES = re.compile(
    r"(?P<light>:root \{.*?\n\}).*?prefers-color-scheme: dark\) \{\s*(?P<dark>:root \{.*?\n  \})", re.S
)


@cache
def shell() -> str:
    """The page before it has an answer. A client's theme is chosen, whatever the browser prefers."""
    found = _THEMES.search((FOLDER / "static" / "page.css").read_text(encoding="utf-8"))
    assert found is not None
    themes = [found[name].replace(":root", f':root[data-theme="{name}"]') for name in ("light", "dark")]
    bare = "header.top { display: none; } main { padding: 12px 14px 20px; }"
    scripts = [(FOLDER / "static" / name).read_text(encoding="utf-8") for name in ("report.js", "app.js")]
    more = Markup("\n").join(map(Markup, [*themes, bare]))
    return standalone("app.html", {"more_style": more}, styles=STYLES, scripts=scripts).text


def report(engine: Engine, attempts: Sequence[str], by: str) -> str:
    """The page of a profile, or of a comparison of two attempts. Raises HistoryError, InputError, DatabaseError."""
    if len(attempts) == 2:
        first, second = attempts
        views = engine.attempts.show(first, by=by), engine.attempts.show(second, other=first, by=by)
        values = {"viewer": None, "more": (None, None)} | compared(*views)
        return standalone("compare_alone.html", values, styles=STYLES, scripts=[]).text
    attempt = engine.attempts.show(attempts[0], by=by).attempt
    return recorded_page(attempt, kept_details(engine.answers, attempt["id"])).text
