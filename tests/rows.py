"""Tests of tables: one item runs all rows and lists all that fail. Collecting an item takes longer than a row does."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import pytest

Labels = Sequence[str] | Callable[[Any], str]
LONGEST_MESSAGE = 500


def check_all(checks: Iterable[tuple[str, Callable[[], object]]]) -> None:
    """Run each check, and fail with the name and the message of every one that fails."""
    given, failures = list(checks), []
    for name, check in given:
        try:
            check()
        except Exception as error:
            failures.append(f"{name}\n    {told(error)}")
    assert given, "a table without rows tests nothing"
    if failures:
        pytest.fail(f"{len(failures)} of {len(given)} rows fail:\n" + "\n".join(failures), pytrace=False)


def told(error: Exception) -> str:
    """A failure in few lines; an error other than AssertionError has its name."""
    text = str(error)[:LONGEST_MESSAGE].strip().replace("\n", "\n    ")
    return text if isinstance(error, AssertionError) else f"{type(error).__name__}: {text}"


def each_row(
    names: str | tuple[str, ...], rows: Iterable[Any], *, ids: Labels = str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like `pytest.mark.parametrize`, but one item for the table, which lists all rows that fail.

    names: the parameter, or parameters, that a row gives; the others are fixtures, the same for all rows.
    ids: what a failure calls a row: a text for each, or a function of the row.
    """
    columns = (names,) if isinstance(names, str) else names
    given = list(rows)
    labels = list(map(ids, given)) if callable(ids) else list(ids)
    values = [dict(zip(columns, (row,) if isinstance(names, str) else row, strict=True)) for row in given]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def all_rows(**fixtures: Any) -> None:
            check_all((label, partial(test, **fixtures, **row)) for label, row in zip(labels, values, strict=True))

        parameters = inspect.signature(test).parameters.values()
        fixtures = [each.replace(kind=each.KEYWORD_ONLY) for each in parameters if each.name not in columns]
        assert len(fixtures) + len(columns) == len(parameters), f"{test.__name__} does not take {columns}"
        all_rows.__name__, all_rows.__doc__, all_rows.__module__ = test.__name__, test.__doc__, test.__module__
        vars(all_rows).update(__signature__=inspect.Signature(fixtures), of_one_row=test)
        return all_rows

    return decorate


def of_one_row(test: Callable[..., None]) -> Callable[..., None]:
    """What `each_row` decorated: the check of one row, for a table of another file."""
    found: Callable[..., None] = vars(test)["of_one_row"]
    return found
