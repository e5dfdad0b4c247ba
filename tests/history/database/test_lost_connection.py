"""A database server that ends in the middle of an answer is a DatabaseError, whatever its driver raises."""

import struct

import pytest
from pg8000.exceptions import InterfaceError  # type: ignore[import-untyped]

from amdkernel_mcp.database.open_database import reported
from amdkernel_mcp.errors import DatabaseError


@pytest.mark.parametrize("error", [ConnectionResetError(), struct.error("unpack"), InterfaceError("network error")])
def test_what_the_driver_says_of_a_lost_connection_is_an_error_of_the_database(error: Exception) -> None:
    with pytest.raises(DatabaseError), reported():
        raise error


def test_an_error_of_ours_is_not_one_of_the_database() -> None:
    with pytest.raises(ZeroDivisionError), reported():
        raise ZeroDivisionError
