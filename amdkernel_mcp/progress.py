"""What a long call says while it works, a line at a time: to a person at a shell, or to the client of a job."""

from collections.abc import Callable

Progress = Callable[[str], None]


def silent(_: str) -> None:
    """Progress that is not shown."""
