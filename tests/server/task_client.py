"""The client of the mcp package that names the tasks extension, and follows a task until it ends."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import mcp_types
from mcp.client.client import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import BaseModel, ConfigDict, Field

EXTENSION = "io.modelcontextprotocol/tasks"


class Created(mcp_types.Result):
    """What a call is answered with that became a task."""

    result_type: Literal["task"] = Field(alias="resultType")
    task_id: str = Field(alias="taskId")
    status: str
    created_at: str = Field(alias="createdAt")
    last_updated_at: str = Field(alias="lastUpdatedAt")
    ttl_ms: int = Field(alias="ttlMs")
    poll_interval_ms: int = Field(alias="pollIntervalMs")
    status_message: str | None = Field(default=None, alias="statusMessage")


class Any_(BaseModel):
    """Any result."""

    model_config = ConfigDict(extra="allow")


class TaskParams(mcp_types.RequestParams):
    """Of a request about a task."""

    model_config = ConfigDict(populate_by_name=True)
    task_id: str = Field(serialization_alias="taskId")


async def asked(session: ClientSession, method: str, task_id: str) -> dict[str, Any]:
    """The result of a request about a task."""
    request: mcp_types.Request[Any, Any] = mcp_types.Request(method=method, params=TaskParams(task_id=task_id))
    return (await session.send_request(request, Any_)).model_dump()


class Tasks(ClientExtension):
    """Finishes a task as a client does."""

    identifier = EXTENSION

    def __init__(self) -> None:
        self.created: list[Created] = []
        self.seen: list[dict[str, Any]] = []

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Created, resolve=self._ended)]

    async def _ended(self, created: Created, context: ClaimContext) -> mcp_types.CallToolResult:
        self.created.append(created)
        while True:
            self.seen.append(task := await asked(context.session, "tasks/get", created.task_id))
            if task["status"] == "completed":
                return mcp_types.CallToolResult.model_validate(task["result"])
            assert task["status"] == "working", task
            await asyncio.sleep(created.poll_interval_ms / 10_000)


@asynccontextmanager
async def over_http(url: str, token: str, *extensions: ClientExtension, mode: str = "auto") -> AsyncIterator[Client]:
    async with create_mcp_http_client({"Authorization": f"Bearer {token}"}) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, extensions=extensions or None, mode=mode) as client:
            yield client


@asynccontextmanager
async def over_stdio(
    command: str, arguments: list[str], env: dict[str, str], *extensions: ClientExtension
) -> AsyncIterator[Client]:
    parameters = StdioServerParameters(command=command, args=arguments, env=env)
    async with Client(parameters, extensions=extensions or None) as client:
        yield client
