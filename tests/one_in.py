"""Long tables of alike cases: the full gate takes one row in some, `make soak` takes the others."""

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def one_in(count: int, rows: Iterable[Any]) -> list[ParameterSet]:
    """`rows` for parametrize: the first and each `count`-th after it as they are, the others marked `soak`."""
    every = [ParameterSet.extract_from(row, force_tuple=not isinstance(row, tuple)) for row in rows]
    return [
        row if number % count == 0 else row._replace(marks=(*row.marks, pytest.mark.soak))
        for number, row in enumerate(every)
    ]
