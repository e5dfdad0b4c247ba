"""The processes that tests of the command line start need the sandbox image of this checkout."""

import pytest


@pytest.fixture(autouse=True)
def image_of_this_checkout(request: pytest.FixtureRequest) -> None:
    """Build it where sandbox/ has changed."""
    if request.node.get_closest_marker("sandbox"):
        request.getfixturevalue("sandbox")
