"""FastMCP without the store of what a session said, which no tool here uses: it needs three more packages."""

from typing import Any

from fastmcp import FastMCP


class StatelessMCP(FastMCP):
    """A server whose sessions are all alike: which tools there are is a setting (`selection.py`)."""

    @property
    def _state_store(self) -> Any:
        return _Empty()


class _Empty:
    async def get(self, **_: Any) -> None:
        """Nothing is kept for any key."""
