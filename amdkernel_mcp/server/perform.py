"""Requests of jobs → calls of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdkernel_mcp.checking.options import CheckOptions
from amdkernel_mcp.engine.tuning.space import TuneOptions
from amdkernel_mcp.jobs.request import Answer, Perform, Progress, Request
from amdkernel_mcp.profiling.options import ProfileOptions

if TYPE_CHECKING:
    from amdkernel_mcp.engine.engine import Engine


def performed_by(engine: Engine) -> Perform:
    """Does requests with this engine."""

    def perform(request: Request, by: str, on_progress: Progress) -> Answer:
        with engine.workers.job(on_progress):
            return done(request, by, on_progress)

    def done(request: Request, by: str, on_progress: Progress) -> Answer:
        given: dict[str, Any] = {**request.arguments, "by": by, "on_progress": on_progress}
        if request.verb == "compile":
            return engine.compile(**given)
        if request.verb == "check":
            return engine.check(**given | {"options": CheckOptions(**given.get("options", {}))})
        if request.verb == "check_program":
            return engine.check_program(**given)
        if request.verb == "benchmark":
            return engine.benchmark(**given)
        if request.verb == "tune":
            return engine.tune(**given | {"options": TuneOptions(**given.get("options", {}))})
        return engine.profile(**given | {"options": ProfileOptions(**given.get("options", {}))})

    return perform
