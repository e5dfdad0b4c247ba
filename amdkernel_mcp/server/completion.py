"""Completion of the names that prompts and resource templates take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdkernel_mcp.execution.hosts import EMULATED
from amdkernel_mcp.problems.problem_file import bundled_problems
from amdkernel_mcp.reading.guides import GUIDES

if TYPE_CHECKING:
    from mcp_types import CompletionArgument, CompletionContext, PromptReference, ResourceTemplateReference

_MOST = 100  # values of one completion, by the protocol


def complete(
    reference: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    _context: CompletionContext | None,
) -> list[str] | None:
    """The names that begin with what was typed; None for an argument that has no list."""
    uri = getattr(reference, "uri", "")
    known = {"problem": bundled_problems(), "target": [f"emulator:{arch}" for arch in EMULATED], "gfx": list(EMULATED)}
    if uri.startswith("amdkernel://problem/"):
        names: list[str] | None = bundled_problems()
    elif uri.startswith("amdkernel://guide/"):
        names = list(GUIDES)
    else:
        names = known.get(argument.name)
    return names and [name for name in names if name.startswith(argument.value)][:_MOST]
