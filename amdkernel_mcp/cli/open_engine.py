"""The engine that a command calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amdkernel_mcp.engine import Engine


@contextlib.contextmanager
def open_engine(*, parent: str | None = None) -> Iterator[Engine]:
    """An engine with the current settings; it is closed, with its containers, however the command ends.

    `parent`: the attempt on which what is done builds. Raises HistoryError where there is none of this name.
    """
    from amdkernel_mcp.config import load_settings
    from amdkernel_mcp.engine import Engine
    from amdkernel_mcp.history.recorder import LOCAL

    engine = Engine(load_settings())
    try:
        with engine.attempts.under(parent, by=LOCAL) if parent is not None else contextlib.nullcontext():
            yield engine
    finally:
        engine.close()
