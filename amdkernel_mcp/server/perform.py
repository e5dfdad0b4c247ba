"""Requests of jobs → verbs of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdkernel_mcp.engine.verbs.table import VERB_NAMED
from amdkernel_mcp.jobs.request import Answer, Perform, Request
from amdkernel_mcp.progress import Progress

if TYPE_CHECKING:
    from amdkernel_mcp.engine.engine import Engine


def performed_by(engine: Engine) -> Perform:
    """Does requests with this engine."""

    def perform(request: Request, by: str, on_progress: Progress) -> Answer:
        asked = VERB_NAMED[request.verb].read(request.arguments)
        with engine.workers.job(on_progress):
            answer: Answer = engine.do(asked, by=by, on_progress=on_progress)
            return answer

    return perform
