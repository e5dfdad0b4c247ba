"""Which scope a tool needs. A tool that is not in the table is refused, so that a new one is never open by mistake."""

from __future__ import annotations

from collections.abc import Mapping

from amdkernel_mcp.access.scopes import Scope
from amdkernel_mcp.engine.verbs.table import VERBS
from amdkernel_mcp.errors import InputError
from amdkernel_mcp.hardware.target import is_emulated

TOOL_SCOPES: Mapping[str, frozenset[Scope]] = {
    "search_docs": frozenset({"docs"}),
    "read_doc": frozenset({"docs"}),
    "list_attempts": frozenset({"docs"}),
    "list_jobs": frozenset({"docs"}),
    "list_problems": frozenset({"docs"}),
    "list_targets": frozenset({"docs"}),
    "note_lesson": frozenset({"docs"}),
    "create_problem": frozenset({"check"}),
    "get_job": frozenset({*(verb.scope for verb in VERBS), "gpu:time", "admin"}),
    **{verb.tool: frozenset({verb.scope}) for verb in VERBS},
}
"""One of these is enough. Those that time on a real GPU: `needed`."""

_TIMED = frozenset(verb.tool for verb in VERBS if verb.timed)


def needed(tool: str, target: object, *, default_target: str) -> frozenset[Scope]:
    """The scopes that open a tool, each alone; none for a tool that no caller may use.

    `target`: the argument as the caller sent it, so maybe no text at all.
    """
    if tool in _TIMED:
        where = target or default_target
        if not (isinstance(where, str) and is_emulated(where)):
            return frozenset({"gpu:time"})
    return TOOL_SCOPES.get(tool, frozenset())


def refuse_without(scopes: frozenset[Scope], held: frozenset[str], what: str) -> None:
    """Raises InputError that names the missing scope, unless one of `scopes` is held."""
    if scopes & held:
        return
    if not scopes:
        raise InputError(f"this server has no {what}")
    usual = sorted(scopes - {"admin"}) or sorted(scopes)  # no user should ask for more than is needed
    names = " or ".join(f"`{scope}`" for scope in usual)
    has = ", ".join(sorted(held)) or "none"
    raise InputError(
        f"{what} needs the scope {names}; your token has {has}",
        hint=f"ask whoever runs this server for a token with --scope {usual[0]}",
    )
