"""Tokens and an audit log in a database of their own, of each kind."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from amdkernel_mcp.access.opened import open_access
from amdkernel_mcp.access.tokens import TokenStore
from amdkernel_mcp.config import Settings
from tests.history.conftest import own_settings, postgres

__all__ = ["own_settings", "postgres"]


@pytest.fixture
def database(own_settings: Settings) -> Iterator[Engine]:
    engine = open_access(own_settings)
    yield engine
    engine.dispose()


@pytest.fixture
def store(database: Engine) -> TokenStore:
    return TokenStore(database)
