"""The engine that a command calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amdkernel_mcp.engine import Engine


@contextlib.contextmanager
def open_engine() -> Iterator[Engine]:
    """An engine with the current settings; it is closed, with its containers, however the command ends."""
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.engine import Engine

    engine = Engine(load_settings())
    try:
        yield engine
    finally:
        engine.close()
