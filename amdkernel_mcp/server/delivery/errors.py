"""Exceptions as errors that a model reads, for all tools, and as exit codes.

Our own errors are reported in full, wrong arguments without the validator's noise. Any other exception is reported as
an internal error without details; the operator gets one line on stderr (the traceback with AMDKERNEL_DEBUG=1).
"""

import difflib
import logging
import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import ValidationError as PydanticValidationError
from starlette.requests import ClientDisconnect

from amdkernel_mcp.errors import AmdkernelError, InfrastructureError, InputError, wrong_path

_OPERATORS = re.compile(
    r"`(?:sudo |(?:\w+=\w+ )*amdkernel (?:admin|docs build|docs refresh|doctor|serve|setup|slurm|worker)\b)"
)
"""Commands that only who runs the server can use."""
_PLACED = re.compile(r"\b(?:machine|server|worker)\b")

INTERNAL = "internal error of the server, not of your call; its log has one line about it"


def describe(error: AmdkernelError) -> str:
    """`FILE:LINE: message`, and the hint on a separate line."""
    place = ":".join(str(part) for part in (error.file, error.line) if part is not None)
    text = f"{place}: {error.message}" if place else error.message
    return f"{text}\nHint: {error.hint}" if error.hint else text


def explained(error: BaseException, folders: Mapping[str, str]) -> str:
    """Why a job failed, for its owner; a fault of the server is not explained. `folders`: see `for_other_machines`."""
    return for_other_machines(describe(error), folders) if isinstance(error, AmdkernelError) else INTERNAL


def for_other_machines(text: str, folders: Mapping[str, str]) -> str:
    """What a caller elsewhere reads: names of the server's folders for their paths, and where a hint's command is run.

    `folders`: path to name; without any the caller is on this machine, and the text stays.
    """
    if not folders:
        return text
    for path in sorted(folders, key=len, reverse=True):
        text = text.replace(path, folders[path])
    message, hint, command = text.partition("\nHint: ")
    if _OPERATORS.search(command) and not _PLACED.search(command):
        return f"{message}{hint}on the server's machine: {command}"
    return text


def describe_arguments(error: PydanticValidationError, known: Collection[str] = ()) -> str:
    """One line per wrong argument: its name, what is wrong, the value. `known`: the names of the tool's arguments."""
    lines = []
    problems = error.errors(include_url=False)
    missing = [str(each["loc"][0]) for each in problems if each["type"].startswith("missing") and each["loc"]]
    for problem in problems:
        name = ".".join(str(part) for part in problem["loc"]) or "arguments"
        given = problem["input"]
        shown = (
            "" if isinstance(given, dict | list) or problem["type"].startswith("missing") else f" (got {given!r:.80})"
        )
        unknown = problem["type"] == "unexpected_keyword_argument"
        near = _meant(name, known, missing) if unknown else []
        lines.append(f"{name}: {problem['msg']}{shown}" + (f"; did you mean {near[0]}?" if near else ""))
    return "\n".join(lines)


def _meant(name: str, known: Collection[str], missing: Sequence[str]) -> Sequence[str]:
    """What an unknown argument stands for: a name with a slip, else the one that is missing, else one that is alike."""
    slip = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
    return slip or (missing if len(missing) == 1 else difflib.get_close_matches(name, known, n=1))


def why_failed(error: BaseException) -> str:
    """For the audit log, which has no arguments: what failed on the server's side, else the kind of mistake."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, InfrastructureError):
            return cause.message
        if isinstance(cause, AmdkernelError):
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(cause).__name__).lower()
            return f"a mistake in the call: {words}"
        if isinstance(cause, PydanticValidationError):
            return "a mistake in the call: wrong arguments"
        cause = cause.__cause__ or cause.__context__
    return "an internal error, which the server's log has"


def exit_code_of(error: BaseException | None) -> int | None:
    """2 or 3: of the error of ours that is its cause; 3 where there is none. None for no error."""
    if error is None:
        return None
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, AmdkernelError):
            return cause.exit_code
        if isinstance(cause, PydanticValidationError):
            return InputError.exit_code
        cause = cause.__cause__ or cause.__context__
    return InfrastructureError.exit_code


class OneLine(logging.Filter):
    """Drops the record of an error that the caller reads, or of a caller who left; of any other the traceback."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and not os.environ.get("AMDKERNEL_DEBUG"):
            error: Any = record.exc_info[1]
            if isinstance(error, AmdkernelError | ClientDisconnect) or wrong_path(error):
                return False
            record.msg = f"{record.getMessage()}: {type(error).__name__}: {error}"
            record.args = ()
            record.exc_info = None
            record.exc_text = None
        return True
