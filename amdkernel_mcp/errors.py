"""What can go wrong; (n) is the exit code of the command line. A bad kernel is a verdict, not an error.

AmdkernelError
├── InputError (2)                  the caller can fix it
│   ├── ProblemFileError            a problem folder that cannot be used as it is
│   ├── ImportRefused               a problem of another collection that cannot become one of ours
│   ├── SettingsError               a setting that is unknown or has the wrong type
│   ├── UnknownTargetError          no such target
│   ├── FlagError                   a compiler flag outside the allow-list
│   ├── DocumentationError          a bad query, reference or documentation folder
│   ├── ProfileFileError            a profile recording that cannot be read
│   ├── HistoryError                no such attempt, or a record that does not verify
│   └── JobError                    no such job
└── InfrastructureError (3)         the caller cannot fix it by changing the input
    ├── ToolchainError              no compiler, or one that cannot be used
    ├── SandboxError                no sandbox, or one that broke
    ├── TargetError                 the target does not answer
    └── DatabaseError               the database or the folder of attempts cannot be used
"""

import errno
from typing import ClassVar


class AmdkernelError(Exception):
    """Base of everything we raise on purpose: one sentence, where it is wrong, and what to do about it."""

    exit_code: ClassVar[int] = 3

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.hint = hint


class InputError(AmdkernelError):
    """The caller can fix it by changing the input."""

    exit_code = 2


class ProblemFileError(InputError):
    """A problem folder that cannot be used as it is."""


class ImportRefused(InputError):
    """A problem of another collection that cannot become one of ours; the message begins with the kind of reason."""


class SettingsError(InputError):
    """A setting that is unknown or has the wrong type."""


class UnknownTargetError(InputError):
    """No target has this name."""


class FlagError(InputError):
    """A compiler flag outside the allow-list."""


class DocumentationError(InputError):
    """A bad query, a reference to no page, or a documentation folder that cannot be read."""


class ProfileFileError(InputError):
    """A profile recording that cannot be read, or must not be believed."""


class HistoryError(InputError):
    """No attempt has this id, or a record does not verify."""


class JobError(InputError):
    """No job has this id."""


class InfrastructureError(AmdkernelError):
    """The caller cannot fix it by changing the input."""

    exit_code = 3


class ToolchainError(InfrastructureError):
    """No compiler, or one that cannot be used."""


class SandboxError(InfrastructureError):
    """No sandbox, or one that broke."""


class TargetError(InfrastructureError):
    """The target does not answer, or answered something it should not."""


class DatabaseError(InfrastructureError):
    """The database or the folder of attempts cannot be used."""


def wrong_path(error: BaseException | None) -> InputError | None:
    """The caller's mistake in an error of the system that no check saw before: a name longer than any file's."""
    if not isinstance(error, OSError) or error.errno != errno.ENAMETOOLONG:
        return None
    return InputError(f"{str(error.filename)[:60]!r}...: no file can have a name or a path that long")
