"""A server for the users ann, bob and `<b>eve</b>`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages.served import Served, served


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as made:
        yield made
