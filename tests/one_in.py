"""Long tables of alike cases: of some rows `make test` or the full gate takes one, and leaves the others for longer."""

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def one_in(count: int, rows: Iterable[Any], *, others: pytest.MarkDecorator = pytest.mark.soak) -> list[ParameterSet]:
    """`rows` for parametrize: the first and each `count`-th after it as they are, the others with the mark `others`.

    `others`: soak leaves them for `make soak`, thorough for the full gate. A tuple is the values of several names.
    """
    every = [ParameterSet.extract_from(row, force_tuple=not isinstance(row, tuple)) for row in rows]
    return [
        row if number % count == 0 else row._replace(marks=(*row.marks, others)) for number, row in enumerate(every)
    ]
