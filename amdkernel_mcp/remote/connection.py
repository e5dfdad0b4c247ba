"""One request to a server over Streamable HTTP, and in plain words why there is no answer.

Only requests of the protocol version that needs no session are sent, so that nothing is lost when the server starts
again. By hand: importing the MCP library takes longer than some clients wait for their tools.
"""

from __future__ import annotations

import base64
import json
import os
import re
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urljoin

import httpx2

from amdkernel_mcp import __version__
from amdkernel_mcp.errors import InfrastructureError, InputError
from amdkernel_mcp.remote.envelope import VERSION_KEY

ANSWER_BYTES = 16 << 20
"""Longest answer that is read; the server's are a few KB, and its longest page is far shorter."""

CONNECT_S = 10.0
SILENT_S = 330.0
"""After which an answer is given up; a call waits 300 s at most, and the server sends a sign of life every 15 s."""

_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")


class NotConnected(InfrastructureError):
    """The server accepts no connection; it has received nothing of the request."""


class NoAnswer(InfrastructureError):
    """The server may have received the request, and the connection brought no answer."""


class Remote:
    """A team's server. `token` is asked before each request, so that a new one is used at once."""

    def __init__(self, url: str, token: Callable[[], str | None]) -> None:
        self.url = url
        self._token = token
        self._client = httpx2.AsyncClient()

    async def close(self) -> None:
        """Close all connections; the server ends what it still works on for them."""
        await self._client.aclose()

    async def ask(
        self, request: dict[str, Any], progress: Callable[[dict[str, Any]], None], *, silent_s: float = SILENT_S
    ) -> dict[str, Any]:
        """The server's response to `request`; `progress` gets its notifications before that.

        Raises InputError for what the user can fix (URL, token), InfrastructureError where the server gives no answer.
        """
        token = self._token()
        body = json.dumps(request, ensure_ascii=False).encode(errors="replace")
        headers = _headers(request, token)
        try:
            limits = httpx2.Timeout(silent_s, connect=CONNECT_S)
            async with self._client.stream("POST", self.url, content=body, headers=headers, timeout=limits) as response:
                if response.status_code != 200:
                    return await _refused(response, request["id"], self.url, with_token=token is not None)
                async for message in _messages(response):
                    if "result" in message or "error" in message:
                        return message
                    progress(message)
        except httpx2.HTTPError as error:
            raise _explained(error, self.url, silent_s) from None
        except httpx2.InvalidURL as error:
            raise InputError(f"{self.url} is not a URL: {error}") from None
        raise NoAnswer(
            f"the connection to {self.url} ended before the answer", hint="list_jobs shows whether the work continues"
        )

    async def page(self, path: str) -> str:
        """The text of a page of the server, by its path there. Raises as `ask`."""
        token = self._token()
        url = urljoin(self.url, path)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        try:
            limits = httpx2.Timeout(SILENT_S, connect=CONNECT_S)
            async with self._client.stream("GET", url, headers=headers, timeout=limits) as response:
                if response.status_code != 200:
                    raise _meaning(response.status_code, "", "", url, with_token=token is not None)
                return (await _read(response)).decode(errors="replace")
        except httpx2.HTTPError as error:
            raise _explained(error, self.url, SILENT_S) from None


def _headers(request: dict[str, Any], token: str | None) -> dict[str, str]:
    params = request.get("params", {})
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": params["_meta"][VERSION_KEY],
        "mcp-method": request["method"],
        "user-agent": f"amdkernel-mcp/{__version__}",
    }
    name = params.get(_NAMED_BY.get(request["method"], ""))
    if isinstance(name, str):
        headers["mcp-name"] = name
    if token:
        headers["authorization"] = f"Bearer {token}"
    return {key: _header_value(value) for key, value in headers.items()}


def _header_value(value: str) -> str:
    """The value in the protocol's own encoding where a header cannot carry it as it is."""
    if _PLAIN.fullmatch(value) and not value.startswith("=?base64?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode(errors='replace')).decode()}?="


async def _messages(response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    """The JSON-RPC messages of an answer: one as JSON, or several as events."""
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        yield _message(await _read(response))
        return
    data: list[str] = []
    async for line in _lines(response):
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield _message("\n".join(data).encode())
            data = []


async def _lines(response: httpx2.Response) -> AsyncIterator[str]:
    held, size = b"", 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > ANSWER_BYTES:
            raise _too_long()
        *lines, held = (held + chunk).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace").rstrip("\r")


async def _read(response: httpx2.Response) -> bytes:
    parts, size = [], 0
    async for chunk in response.aiter_bytes():
        parts.append(chunk)
        size += len(chunk)
        if size > ANSWER_BYTES:
            raise _too_long()
    return b"".join(parts)


def _message(body: bytes) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise InputError("what answers is not an MCP server", hint="the URL of `amdkernel serve` ends with /mcp")
    return message


def _too_long() -> InfrastructureError:
    return InfrastructureError(f"the answer is longer than {ANSWER_BYTES >> 20} MiB")


async def _refused(response: httpx2.Response, identity: object, url: str, *, with_token: bool) -> dict[str, Any]:
    """The server's own error if it names this request; else raises what the status means."""
    status = response.status_code
    body = await _read(response)
    said = ""
    if status not in (401, 403) and response.headers.get("content-type", "").startswith("application/json"):
        message = _message(body)
        if message.get("id") == identity and isinstance(message.get("error"), dict):
            return message
        error = message.get("error")
        said = str(error.get("message", ""))[:300] if isinstance(error, dict) else ""
    raise _meaning(status, response.headers.get("location", ""), said, url, with_token=with_token)


def _meaning(status: int, place: str, said: str, url: str, *, with_token: bool) -> InputError | InfrastructureError:
    if status == 401 and with_token:
        return InputError(f"{url} refuses the token", hint="ask who runs the server for a new one")
    if status == 401:
        return InputError(f"{url} needs a token", hint="set AMDK_TOKEN, or give --token-file FILE")
    if status in (301, 302, 303, 307, 308):
        return InputError(f"{url} has moved to {place[:200]}", hint="give that address as --url")
    if status in (404, 405) and not said:
        return InputError(f"there is no MCP server at {url}", hint="the URL of `amdkernel serve` ends with /mcp")
    if status == 421:
        return InputError(
            f"the server does not know itself by the name in {url}", hint="it needs `amdkernel serve --allow-host NAME`"
        )
    if status in (502, 503, 504):
        return NoAnswer(f"the server behind {url} is away (status {status})", hint="try again in a minute")
    about = f": {said}" if said else ""
    kind = InputError if status < 500 else InfrastructureError
    return kind(f"{url} answers with status {status}{about}")


def _explained(error: httpx2.HTTPError, url: str, silent_s: float) -> InputError | InfrastructureError:
    """What an error of the connection means, by its first cause."""
    causes = [error, *_causes(error)]
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return InputError(
                f"the certificate of {url} is not accepted: {cause.verify_message}",
                hint="if your organisation signs its own, name its CA file in the environment variable SSL_CERT_FILE",
            )
        if isinstance(cause, ssl.SSLError):
            return InputError(
                f"TLS with {url} fails: {cause.reason or cause}", hint="does the server speak http:// instead?"
            )
        if isinstance(cause, socket.gaierror):
            return InputError(f"the host name in {url} is not found", hint="is the VPN on, and the name spelt right?")
    if isinstance(error, httpx2.ConnectTimeout):
        return NotConnected(f"{url} does not answer within {CONNECT_S:.0f} s", hint="is the VPN on?")
    if isinstance(error, httpx2.ConnectError):
        numbers = [cause.errno for cause in causes if isinstance(cause, OSError) and cause.errno]
        why = os.strerror(numbers[0]) if numbers else str(error)
        return NotConnected(f"{url} cannot be reached: {why}", hint="if the server is starting, try again in a minute")
    if isinstance(error, httpx2.TimeoutException):
        return NoAnswer(f"{url} was silent for {silent_s:.0f} s", hint="list_jobs shows whether the work continues")
    return NoAnswer(
        f"the connection to {url} broke before the answer", hint="list_jobs shows whether the work continues"
    )


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    cause = error.__cause__ or error.__context__
    while cause is not None and len(found) < 10:
        found.append(cause)
        cause = cause.__cause__ or cause.__context__
    return found
