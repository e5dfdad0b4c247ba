"""`POST /reward` of the HTTP server: records of attempts to numbers, for a trainer that speaks no MCP.

Routes next to /mcp are not behind FastMCP's check of tokens, so this one verifies the token itself.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse

from amdkernel_mcp.errors import AmdkernelError, InputError
from amdkernel_mcp.results.rewards import RewardList
from amdkernel_mcp.reward import CAP, CORRECT, RewardOptions
from amdkernel_mcp.server.admission.limits import MESSAGE_BYTES

if TYPE_CHECKING:
    from fastmcp import FastMCP
    from fastmcp.server.auth import AuthProvider

    from amdkernel_mcp.engine.engine import Engine

MOST_RECORDS = 256


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExportedRecord(_Part):
    """A record as `amdkernel export` writes it."""

    record: str = Field(description="The text of attempt.json")
    signature: str = Field(max_length=200, description="The bytes of attempt.sig in base64")


class RewardRequest(_Part):
    """The body of a request."""

    attempts: list[Annotated[str, Field(min_length=1, max_length=40)]] = Field(default=[], max_length=MOST_RECORDS)
    records: list[ExportedRecord] = Field(default=[], max_length=MOST_RECORDS)
    modelled: bool = False
    baseline: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    problem: str | None = Field(default=None, pattern=r"^sha256:[0-9a-f]{64}$")
    shaping: float = 0.0
    correct: float = CORRECT
    cap: float = CAP

    def options(self) -> RewardOptions:
        """Raises InputError."""
        given = self.model_dump(include={"modelled", "baseline", "problem", "shaping", "correct", "cap"})
        return RewardOptions(**given)


def add_reward_route(
    server: FastMCP,
    auth: AuthProvider | None,
    engine: Callable[[], Engine | None],
    allowed: Callable[[str], Awaitable[bool]],
) -> None:
    """Serve `POST /reward`. `engine`: the running one; None before the start and after the end.

    `allowed`: whether the user of this name, `local` without tokens, may send one more request now.
    """

    @server.custom_route("/reward", methods=["POST"], include_in_schema=False)
    async def reward(request: Request) -> JSONResponse:
        name = user = "local"
        if auth is not None:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            found = await auth.verify_token(token) if scheme.lower() == "bearer" and token else None
            if found is None:
                return _refusal(401, "a known token is needed", {"www-authenticate": "Bearer"})
            if "docs" not in found.scopes:
                return _refusal(403, "this needs a token with the scope `docs`")
            name, user = found.client_id, f"user:{found.client_id}"
        if not await allowed(name):
            return _refusal(429, "too many requests of one user; wait a second", {"retry-after": "1"})
        try:
            wanted = RewardRequest.model_validate_json(await _body(request))
            running = engine()
            if running is None:
                return _refusal(503, "the server is starting or ending")
            answer = await asyncio.to_thread(_rewards, running, wanted, user)
        except ClientDisconnect:
            return _refusal(400, "the request was not sent to its end")
        except _TooLongError:
            return _refusal(413, f"a request has {MESSAGE_BYTES >> 20} MiB at most")
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            return _refusal(400, f"{place}: {first['msg']}" if place else first["msg"])
        except AmdkernelError as error:
            if error.exit_code < 3:
                return _refusal(400, error.message)
            return _refusal(500, "the history cannot be used")  # its message may name a path of this server
        return JSONResponse(answer.model_dump(mode="json"))


class _TooLongError(Exception):
    """The body is longer than a message may be."""


async def _body(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MESSAGE_BYTES:
            raise _TooLongError
        parts.append(part)
    return b"".join(parts)


def _rewards(engine: Engine, wanted: RewardRequest, user: str) -> RewardList:
    if not 0 < len(wanted.attempts) + len(wanted.records) <= MOST_RECORDS:
        raise InputError(f"name 1 to {MOST_RECORDS} attempts and records")
    exports = []
    for each in wanted.records:
        try:
            exports.append((each.record.encode(), base64.b64decode(each.signature, validate=True)))
        except (binascii.Error, UnicodeEncodeError):
            raise InputError("a signature is base64, and a record is UTF-8") from None
    return engine.attempts.rewards(wanted.attempts, exports=exports, options=wanted.options(), by=user)


def _refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": {"message": message}}, status_code=status, headers=headers)
