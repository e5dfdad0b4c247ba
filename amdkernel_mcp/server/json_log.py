"""The server's log as one JSON object per line on stderr, for programs that collect logs.

By hand, because a formatter of the standard library's logging is these few lines. What is logged under a lock must not
wait for a reader of stderr: a thread writes, and what does not fit into its queue is counted and left out.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import os
import queue
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amdkernel_mcp.jobs.job import Job

MOST_WAITING = 10_000
LONGEST = 8192
_SECRETS = re.compile(
    r"amdk_[A-Za-z0-9_-]{20,}|(?i:bearer)\s+\S+|eyJ[A-Za-z0-9_-]+\.[\w.-]+|(?<=://)[^/\s@]+:[^/\s@]+(?=@)"
)
_OURS = ("amdkernel_mcp", "fastmcp", "uvicorn", "mcp")
_log = logging.getLogger(__name__)


class OneObject(logging.Formatter):
    """A record as a JSON object on one line: time, level, logger, message, and the fields that the caller added."""

    def format(self, record: logging.LogRecord) -> str:
        """Of any record. What looks like a token or a password is left out."""
        said: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _without_secrets(record.getMessage()),
        }
        said |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            said["error"] = _without_secrets(f"{type(error).__name__}: {error}")
            if os.environ.get("AMDKERNEL_DEBUG"):
                said["traceback"] = _without_secrets(self.formatException(record.exc_info))
        return json.dumps(said, ensure_ascii=True, default=str)


class _Waiting(logging.handlers.QueueHandler):
    """Hands records to the thread that writes them."""

    def __init__(self, waiting: queue.Queue[logging.LogRecord]) -> None:
        super().__init__(waiting)
        self._left_out = 0

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """As it is: it stays in this process."""
        return record

    def enqueue(self, record: logging.LogRecord) -> None:
        """Raises nothing."""
        try:
            self.queue.put_nowait(record)
        except queue.Full:
            self._left_out += 1
            return
        if self._left_out:
            more, self._left_out = self._left_out, 0
            record.msg, record.args = f"{record.getMessage()} ({more} lines were left out before)", ()


def log_as_json() -> Callable[[], None]:
    """Replace every other way to log. Returns what writes the rest and ends the thread."""
    writes = logging.StreamHandler(sys.stderr)
    writes.setFormatter(OneObject())
    waiting: queue.Queue[logging.LogRecord] = queue.Queue(MOST_WAITING)
    thread = logging.handlers.QueueListener(waiting, writes)
    handler = _Waiting(waiting)
    for name in (None, *_OURS):
        logger = logging.getLogger(name)
        for other in logger.handlers[:]:
            logger.removeHandler(other)
        logger.propagate = True
    logging.getLogger().addHandler(handler)
    logging.getLogger("amdkernel_mcp").setLevel(logging.INFO)
    logging.captureWarnings(True)
    thread.start()
    return thread.stop


def log_job(job: Job) -> None:
    """A line for a job that ended; printed in this format alone."""
    fields: dict[str, object] = {"job": job.id, "user": job.owner, "verb": job.request.verb, "status": job.status}
    fields["target"] = job.request.arguments.get("target")
    fields["verdict"] = getattr(job.answer, "verdict", None)
    if job.error is not None:
        fields["error"] = type(job.error).__name__
    if job.begun_s is not None and job.accepted_s is not None:
        fields["waited_s"] = round(job.begun_s - job.accepted_s, 3)
    if job.begun_s is not None and job.finished_s is not None:
        fields["ran_s"] = round(job.finished_s - job.begun_s, 3)
    _log.info("job ended", extra={"fields": fields})


def _without_secrets(text: str) -> str:
    return _SECRETS.sub("[left out]", text)[:LONGEST]
