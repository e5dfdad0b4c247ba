"""What the page of a recorded profile shows besides the answer: kept as long as the whole answers of tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from amdkernel_mcp.profiling.detail import KernelDetail

if TYPE_CHECKING:
    from amdkernel_mcp.cache_folder import CacheFolder

_JSON = TypeAdapter(list[KernelDetail])


def keep_details(answers: CacheFolder, attempt: str, details: Sequence[KernelDetail]) -> None:
    """Keep the details of an attempt; where the folder cannot be written, its page has none."""
    answers.write(_name(attempt), _JSON.dump_json(list(details), warnings=False))


def kept_details(answers: CacheFolder, attempt: str) -> list[KernelDetail]:
    """The details of an attempt; none where they are too old, or another version kept them."""
    content = answers.read(_name(attempt))
    try:
        return _JSON.validate_json(content) if content else []
    except ValidationError:
        return []


def _name(attempt: str) -> str:
    return f"{attempt}.profile.json"
