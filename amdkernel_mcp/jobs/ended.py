"""Why a job was not taken, or ended without an answer: in words for its caller and for the log."""

from __future__ import annotations

import math
import traceback

from amdkernel_mcp.errors import AmdkernelError, JobError

RESTART_S = 10  # until the next server listens
_INTERNAL = "internal error; the server's log has it"


class DrainingError(JobError):
    """The server is about to end and takes no new work."""

    exit_code = 3  # nothing is wrong with the input

    def __init__(self, left_s: float) -> None:
        self.retry_after_s = math.ceil(left_s) + RESTART_S
        super().__init__(
            "draining: this server is about to end and takes no new work",
            hint=f"retry in {self.retry_after_s} s; a job that has an id is kept, and the next server answers get_job",
        )


def where_raised(error: BaseException) -> str:
    """Of an internal error: its type and where it was raised. Not its text, which may quote a user's."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename}:{frame.lineno}" for frame in frames if "amdkernel_mcp" in frame.filename] or ["?"]
    return f"{type(error).__name__} in {places[-1]}"


def said(error: BaseException | None) -> str | None:
    """What a caller reads of it: nothing of an internal error."""
    if error is None:
        return None
    return error.message if isinstance(error, AmdkernelError) else _INTERNAL
