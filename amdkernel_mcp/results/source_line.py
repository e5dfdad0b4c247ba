"""A line number that knows its file. It is an integer, so that all code for one-file kernels takes it as it is."""


class SourceLine(int):
    """Line `int(self)` of `file`; as text `12 of FILE`. Lines of different files are different."""

    file: str

    def __new__(cls, line: int, file: str) -> "SourceLine":
        """The line of that file, from 1."""
        made = super().__new__(cls, line)
        made.file = file
        return made

    def __eq__(self, other: object) -> bool:
        same_file = not isinstance(other, SourceLine) or self.file == other.file
        return same_file and int.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__

    def __str__(self) -> str:
        return f"{int(self)} of {self.file}"


def keep_file(value: object, validate: object) -> object:
    """A pydantic validator: a SourceLine stays one, anything else is validated as an integer."""
    return value if isinstance(value, SourceLine) else validate(value)  # type: ignore[operator]
