"""An attempt: one candidate, one verb, and all that was found out; immutable, signed, replayable.

The signed bytes are `canonical`: the JSON of the record with sorted keys and no spaces, in UTF-8. Texts and files are
named by their sha256 and are kept next to the records (`artefacts.py`), so that a record stays small.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from amdkernel_mcp.errors import HistoryError

FORMAT: Literal["amdkernel-attempt/1"] = "amdkernel-attempt/1"
ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # without l, o, 0, 1, which people confuse
ID_LENGTH = 10
ROW = "tune_row"
"""The verb of one combination of a sweep."""

Verb = Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]
"""One of `engine/verbs`, or `tune_row`: one combination of a sweep, whose record is its parent."""
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
AttemptId = Annotated[str, Field(pattern=rf"^[{ALPHABET}]{{{ID_LENGTH}}}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ProblemUsed(_Part):
    """The problem as it was judged; `files` are those of its folder."""

    name: str
    files: dict[str, Sha256]
    hash: str | None = Field(default=None, description="Of what a verdict depends on, as `hashes.problem` of answers")


class Seeds(_Part):
    """What inputs were drawn from."""

    commitment: str = Field(description="SHA-256 of the key's bytes, fixed before the run")
    key: str = Field(description="Hexadecimal; empty of `timing`, whose inputs later kernels get as well")


class Ran(_Part):
    """What ran, and what made it."""

    code_object: Sha256 | None = Field(description="Null: it did not compile")
    flags: list[str] = Field(description="All that the compiler got, those of the file's `build` line included")
    arch: str
    toolchain: str | None
    image: str | None = Field(description="Docker's id of the sandbox image; null without a container")
    isolation: str | None
    seeds: dict[str, Seeds] = Field(default={}, description="By purpose: `check`, `timing`")
    headers: dict[str, Sha256] = Field(default={}, description="Of the header libraries, by name")


class Attempt(_Part):
    """The record of an attempt."""

    format: Literal["amdkernel-attempt/1"] = FORMAT
    id: AttemptId
    verb: Verb
    created: str = Field(description="UTC, ISO 8601 with milliseconds")
    by: str = Field(description="The user that the token names, or `local`")
    parent: AttemptId | None = Field(
        description="The attempt that the user named, else theirs before it on the problem"
    )
    version: str = Field(description="Of amdkernel-mcp")
    file_name: str
    source: Sha256
    baseline: Sha256 | None
    problem: ProblemUsed | None
    ran: Ran | None = Field(default=None, description="Null where nothing was compiled")
    baseline_ran: Ran | None = None
    target: str | None
    options: dict[str, Any] = Field(description="Flags, schedules, seeds: what the caller chose")
    verdict: str
    answer: dict[str, Any] = Field(description="The whole answer of the verb, as it was given to the caller")


def new_id() -> str:
    """A random name of an attempt; 50 bits, so that 100,000 attempts share one with a chance of 1 in 200,000."""
    return "".join(secrets.choice(ALPHABET) for _ in range(ID_LENGTH))


def now() -> str:
    """The time of a new record."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def canonical(attempt: Attempt) -> bytes:
    """The bytes that are signed and stored."""
    record = attempt.model_dump(mode="json")
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def storable(value: Any) -> Any:
    """`value` as JSON and UTF-8 can hold it: numbers that are not finite become words, halves of characters marks."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(storable(key)): storable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable(item) for item in value]
    return value


def read_record(record: bytes) -> Attempt:
    """The attempt in stored bytes. Raises HistoryError when they are not a record of ours."""
    try:
        return Attempt.model_validate_json(record)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in problem["loc"]) or "the file"
        raise HistoryError(f"this is not the record of an attempt: {place}: {problem['msg']}") from None


def sha256(content: bytes) -> str:
    """The name of an artefact."""
    return hashlib.sha256(content).hexdigest()


def files_of(attempt: Attempt) -> list[str]:
    """The sha256 of every artefact that a record names."""
    named = [attempt.source, attempt.baseline, *(attempt.problem.files.values() if attempt.problem else ())]
    return list(dict.fromkeys(name for name in named if name))
