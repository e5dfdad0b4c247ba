"""Answers of a server as our results: whole where it sent a part, and readable where it is newer than this package."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from amdkernel_mcp.errors import AmdkernelError, InfrastructureError
from amdkernel_mcp.remote.calls import not_understood
from amdkernel_mcp.results.job_answer import JobAnswer
from amdkernel_mcp.results.quantity import Result

_WHOLE = re.compile(r'read_doc\(ref="artefact:([0-9a-f]{64})"\)')

_R = TypeVar("_R", bound=Result)
_J = TypeVar("_J", bound=JobAnswer)


def read_answer(model: type[_R], answer: object, url: str) -> _R:
    """The answer as `model`, without the keys of a newer server. Raises InfrastructureError where it is none."""
    try:
        return model.model_validate(_with_units(answer), extra="ignore")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise not_understood(url, f"{place}: {first['msg']}") from None


def read_whole(model: type[_J], answer: Mapping[str, Any], url: str, resource: Callable[[str], str]) -> _J:
    """The answer of a verb, all of it. Where the server has not kept the rest, its `left_out` says what is missing."""
    result = read_answer(model, answer, url)
    named = _WHOLE.fullmatch(result.next or "")
    if named:
        try:
            kept = json.loads(resource(f"amdkernel://artefact/{named[1]}"))
            result = read_answer(model, kept, url)
        except (AmdkernelError, ValueError) as error:
            if isinstance(error, InfrastructureError):
                raise
    # A path would be one of the server's.
    return result.model_copy(update={"artefacts": [each.model_copy(update={"path": ""}) for each in result.artefacts]})


def _with_units(answer: Any) -> Any:
    """A profile that was shortened lacks empty texts, and so the units of metrics without one."""
    if isinstance(answer, dict):
        filled = {key: _with_units(value) for key, value in answer.items()}
        return {"unit": "", **filled} if {"value", "evidence"} <= filled.keys() else filled
    return [_with_units(each) for each in answer] if isinstance(answer, list) else answer
