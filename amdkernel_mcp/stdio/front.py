"""A team's server as a local one over stdin and stdout: the same tools, and files of this machine sent as text.

Every request of the client becomes one HTTP request of its own, so there is no session that a restart of the server
could lose. Clients that open with `initialize` are answered here, and their requests get the envelope of the version
that needs no session. While the server is away, the client still gets the list of tools, as this package knows it, and
each call says why there is no answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from amdkernel_mcp.errors import AmdkernelError
from amdkernel_mcp.remote.connection import NotConnected, Remote
from amdkernel_mcp.remote.envelope import CAPABILITIES_KEY, ENVELOPE_VERSION, VERSION_KEY
from amdkernel_mcp.server.admission.limits import MESSAGE_BYTES, TOO_LONG
from amdkernel_mcp.server.lines import LongLine, read_bounded_lines
from amdkernel_mcp.stdio.handshake import LISTS, Handshake, era_of, refusal
from amdkernel_mcp.stdio.local_files import with_text

MOST_AT_ONCE = 64
"""Requests that may wait for the server; one more is refused."""

RETRY_AFTER_S = (0.5, 1.5)
"""Pauses before a call is sent again to a server that does not accept connections."""

ENDING_S = 5.0
"""For answers that are still on their way when the client has closed stdin; then they are cancelled."""

_CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
_SERVER_KEY = "io.modelcontextprotocol/serverInfo"
_OF_THE_ENVELOPE = ("resultType", "ttlMs", "cacheScope")
_NO_ANSWER = -32603


class Front:
    """Serves one client from `remote`."""

    def __init__(self, remote: Remote, recorded: Handshake | None) -> None:
        self._remote = remote
        self._recorded = recorded
        self._client_info: dict[str, Any] | None = None
        self._running: dict[int | str, asyncio.Task[None]] = {}
        self._reported: str | None = None  # the reason on stderr, printed once until it changes

    async def run(self) -> None:
        """Serve until the client closes stdin."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def read() -> None:
            try:
                for line in read_bounded_lines(0, MESSAGE_BYTES):
                    asyncio.run_coroutine_threadsafe(self._take(line), loop).result()  # so that lines do not pile up
            finally:
                loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=read, daemon=True).start()
        try:
            await ended.wait()
            if self._running:
                await asyncio.wait(self._running.values(), timeout=ENDING_S)
        finally:
            for task in self._running.values():
                task.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)
            await self._remote.close()

    async def _take(self, line: bytes | LongLine) -> None:
        if isinstance(line, LongLine):
            self._send({"id": line.identity, "error": TOO_LONG})
            return
        message = _object(line)
        if message is None:
            if line.strip():
                self._send({"id": None, "error": {"code": -32700, "message": "this is not a JSON-RPC message"}})
            return
        identity, method = message.get("id"), message.get("method")
        if method == "notifications/cancelled":
            cancelled = _params(message).get("requestId")
            if isinstance(cancelled, int | str) and cancelled in self._running:
                self._running[cancelled].cancel()
        if not isinstance(method, str) or not isinstance(identity, int | str):
            return  # notifications are not passed on: the server keeps nothing between requests
        if len(self._running) >= MOST_AT_ONCE or identity in self._running:
            error = {"code": -32600, "message": f"over {MOST_AT_ONCE} requests at once, or an id that is in use"}
            self._send({"id": identity, "error": error})
            return
        task = asyncio.create_task(self._answer(message))
        self._running[identity] = task
        task.add_done_callback(lambda _: self._running.pop(identity, None))

    async def _answer(self, request: dict[str, Any]) -> None:
        identity = request["id"]
        handshake = era_of(request) == "handshake"
        try:
            answer = await (self._answer_handshake(request) if handshake else self._answer_envelope(request))
        except AmdkernelError as error:
            answer = self._explain(request, error, handshake=handshake)
        except Exception as error:  # a fault of ours: without an answer the client would wait for ever
            answer = {"error": {"code": _NO_ANSWER, "message": f"internal error of amdkernel-mcp: {error!r:.200}"}}
        self._send({**answer, "id": identity})

    async def _answer_handshake(self, request: dict[str, Any]) -> dict[str, Any]:
        method = request["method"]
        if method == "initialize":
            return await self._initialize(request)
        if method in ("ping", "logging/setLevel"):
            return {"result": {}}
        answer = await self._pass_on(self._enveloped(request))
        if isinstance(answer.get("result"), dict):
            kept = {key: value for key, value in answer["result"].items() if key not in _OF_THE_ENVELOPE}
            return {"result": kept}
        return answer

    async def _answer_envelope(self, request: dict[str, Any]) -> dict[str, Any]:
        refused = refusal(request, [ENVELOPE_VERSION])
        return {"error": refused} if refused else await self._pass_on(request)

    async def _initialize(self, request: dict[str, Any]) -> dict[str, Any]:
        """The recorded answer, with the instructions of the server that runs, if it does."""
        info = _params(request).get("clientInfo")
        self._client_info = info if isinstance(info, dict) else None
        recorded = self._recorded.answer(request, None) if self._recorded else None
        discover = {"jsonrpc": "2.0", "id": request["id"], "method": "server/discover"}
        try:
            found = (await self._pass_on(self._enveloped(discover))).get("result", {})
        except AmdkernelError as error:
            if recorded is None:
                raise
            self._report(error)
            return recorded
        result = recorded["result"] if recorded else {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
        live = {"instructions": found.get("instructions"), "serverInfo": found.get("_meta", {}).get(_SERVER_KEY)}
        return {"result": {**result, **{key: value for key, value in live.items() if value is not None}}}

    def _enveloped(self, request: dict[str, Any]) -> dict[str, Any]:
        """The request as a client of the newer protocol would send it."""
        params = _params(request)
        meta = params.get("_meta") if isinstance(params.get("_meta"), dict) else {}
        meta = {**(meta or {}), VERSION_KEY: ENVELOPE_VERSION, CAPABILITIES_KEY: {}}
        if self._client_info is not None:
            meta[_CLIENT_KEY] = self._client_info
        return {**request, "params": {**params, "_meta": meta}}

    async def _pass_on(self, request: dict[str, Any]) -> dict[str, Any]:
        """The member `result` or `error` of the server's response. Raises as Remote.ask, and for a file not sent."""
        pauses: tuple[float, ...] = ()
        if request["method"] == "tools/call":
            pauses = RETRY_AFTER_S
            arguments = request["params"].get("arguments")
            if isinstance(arguments, dict):
                sent = await asyncio.to_thread(with_text, arguments)
                request = {**request, "params": {**request["params"], "arguments": sent}}
        response = await self._ask_again(request, pauses)
        self._reported = None
        return {key: response[key] for key in ("result", "error") if key in response}

    async def _ask_again(self, request: dict[str, Any], pauses: tuple[float, ...]) -> dict[str, Any]:
        for pause in pauses:
            try:
                return await self._remote.ask(request, self._send)
            except NotConnected:
                await asyncio.sleep(pause)
        return await self._remote.ask(request, self._send)

    def _explain(self, request: dict[str, Any], error: AmdkernelError, *, handshake: bool) -> dict[str, Any]:
        """The answer to a request that the server has not answered."""
        method = request["method"]
        if method == "tools/call":  # a result: the model reads it, where an error might only be logged
            result = {"content": [{"type": "text", "text": _in_words(error)}], "isError": True}
            return {"result": result if handshake else {**result, "resultType": "complete"}}
        self._report(error)
        if method in LISTS or method == "server/discover":
            recorded = self._recorded.answer(request, None) if self._recorded else None
            if recorded is not None:
                return recorded
        return {"error": {"code": _NO_ANSWER, "message": _in_words(error)}}

    def _report(self, error: AmdkernelError) -> None:
        if error.message != self._reported:
            self._reported = error.message
            sys.stderr.write(f"amdkernel-mcp: {_in_words(error)}\n")
            sys.stderr.flush()

    def _send(self, message: dict[str, Any]) -> None:
        view = memoryview(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        try:
            while view:
                view = view[os.write(1, view) :]
        except OSError:  # the client has gone without closing stdin
            os._exit(0)


def serve_front(url: str, token: Callable[[], str | None], recorded: Handshake | None) -> int:
    """Serve the client on stdin and stdout from the server at `url` until it goes; the exit code."""

    async def run() -> None:
        await Front(Remote(url, token), recorded).run()

    try:
        asyncio.run(run())
    except KeyboardInterrupt:
        return 130
    return 0


def _in_words(error: AmdkernelError) -> str:
    text = f"{error.file}: {error.message}" if error.file else error.message
    return f"{text}\nHint: {error.hint}" if error.hint else text


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _params(request: dict[str, Any]) -> dict[str, Any]:
    params = request.get("params")
    return params if isinstance(params, dict) else {}
