"""Calls of a server's tools, one after the other, and its errors as ours."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NoReturn, TypeVar

from amdkernel_mcp import __version__
from amdkernel_mcp.errors import AmdkernelError, InfrastructureError, InputError
from amdkernel_mcp.progress import Progress, silent
from amdkernel_mcp.remote.connection import SILENT_S, NoAnswer, NotConnected, Remote
from amdkernel_mcp.remote.envelope import CAPABILITIES_KEY, ENVELOPE_VERSION, VERSION_KEY
from amdkernel_mcp.results.jobs import EXIT_CODE_KEY

RETRY_AFTER_S = (0.5, 1.5)
"""Pauses before a call is sent again to a server that does not accept connections."""

_CLOSE_S = 5.0
_T = TypeVar("_T")

_SENT = {"kernel.hip": "file_name", "baseline.hip": "baseline_file"}
_PLACE = re.compile(r"(kernel\.hip|baseline\.hip)(?::(\d+))?: ")
_COMMANDS = {"list_jobs": "`amdkernel jobs`", "list_targets": "`amdkernel targets`", "get_job": "`amdkernel job`"}
_CLIENT_KEY = "io.modelcontextprotocol/clientInfo"


class Server:
    """A team's server. Not thread-safe: a command calls it from its main thread, where a Ctrl-C ends the wait.

    The connections have a thread of their own: an interrupt that is raised inside of an event loop may be lost there.
    """

    def __init__(self, url: str, token: Callable[[], str | None]) -> None:
        self.url = url
        self._remote = Remote(url, token)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="connections", daemon=True)
        self._thread.start()
        self._number = 0

    def close(self) -> None:
        """Close the connections."""
        with contextlib.suppress(TimeoutError):
            self._run(self._close_all(), timeout_s=_CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)
        if not self._thread.is_alive():
            self._loop.close()

    async def _close_all(self) -> None:
        """In the order of asyncio.run: a stream that a task still reads cannot be closed."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._remote.close()
        await self._loop.shutdown_asyncgens()

    def _run(self, work: Coroutine[Any, Any, _T], *, timeout_s: float | None = None) -> _T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout_s)
        except BaseException:
            future.cancel()
            raise

    def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        on_progress: Progress = silent,
        silent_s: float = SILENT_S,
        names: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The structured answer of a tool. `names`: of the user's files (`file_name`, `baseline_file`), for errors.

        Raises InputError or InfrastructureError, as the server's engine did; NotConnected and NoAnswer.
        """
        result = self._ask("tools/call", {"name": tool, "arguments": dict(arguments)}, on_progress, silent_s)
        content = result.get("content")
        if result.get("isError"):
            text = content[0].get("text") if isinstance(content, list) and content else ""
            meta = result.get("_meta")
            raise_error(str(text), meta.get(EXIT_CODE_KEY) if isinstance(meta, dict) else None, names or {})
        answer = result.get("structuredContent")
        if not isinstance(answer, dict):
            raise not_understood(self.url, f"the answer of {tool} is not an object")
        return answer

    def resource(self, uri: str) -> str:
        """The text of a resource. Raises as `call`."""
        contents = self._ask("resources/read", {"uri": uri}, silent, SILENT_S).get("contents")
        first = contents[0] if isinstance(contents, list) and contents else None
        text = first.get("text") if isinstance(first, dict) else None
        if not isinstance(text, str):
            raise not_understood(self.url, f"{uri} has no text")
        return text

    def page(self, path: str) -> str:
        """The text of a page of the server's. Raises as `call`."""
        return self._run(self._remote.page(path))

    def _ask(self, method: str, params: dict[str, Any], on_progress: Progress, silent_s: float) -> dict[str, Any]:
        self._number += 1
        meta = {
            VERSION_KEY: ENVELOPE_VERSION,
            CAPABILITIES_KEY: {},
            _CLIENT_KEY: {"name": "amdkernel", "version": __version__},
            "progressToken": self._number,
        }
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": {**params, "_meta": meta}}

        def report(message: dict[str, Any]) -> None:
            params = message.get("params")
            said = params.get("message") if isinstance(params, dict) else None
            if message.get("method") == "notifications/progress" and isinstance(said, str):
                on_progress(said)

        try:
            response = self._run(self._ask_again(request, report, silent_s))
        except NoAnswer as error:
            jobs = f"amdkernel jobs --url {self.url} shows whether the work continues"
            raise NoAnswer(error.message, hint=jobs) from None
        result, refusal = response.get("result"), response.get("error")
        if isinstance(refusal, dict):
            raise not_understood(self.url, str(refusal.get("message", ""))[:300])
        if not isinstance(result, dict):
            raise not_understood(self.url, "a response without a result")
        return result

    async def _ask_again(
        self, request: dict[str, Any], report: Callable[[dict[str, Any]], None], silent_s: float
    ) -> dict[str, Any]:
        for pause in RETRY_AFTER_S:
            try:
                return await self._remote.ask(request, report, silent_s=silent_s)
            except NotConnected:
                await asyncio.sleep(pause)
        return await self._remote.ask(request, report, silent_s=silent_s)


def not_understood(url: str, what: str) -> InfrastructureError:
    """The error for an answer that a server of this version does not give."""
    return InfrastructureError(
        f"{url} answers what amdkernel {__version__} does not understand: {what}",
        hint="the same version here as on the server reads its answers",
    )


def raise_error(text: str, exit_code: object, names: Mapping[str, str]) -> NoReturn:
    """Raise what the server's engine raised, from its words `FILE:LINE: MESSAGE`, then a line with the hint.

    `exit_code`: 2 or 3; an older server says none, and mostly means the input.
    """
    message, _, hint = text.partition("\nHint: ")
    kind: type[AmdkernelError] = InfrastructureError if exit_code == InfrastructureError.exit_code else InputError
    place = _PLACE.match(message)
    file = names.get(_SENT[place[1]], place[1]) if place else None
    line = int(place[2]) if place and place[2] else None
    said = message[place.end() if place else 0 :] or "no reason given"
    raise kind(said, file=file, line=line, hint=_for_a_shell(hint))


def _for_a_shell(hint: str) -> str | None:
    """The server's hint, which names tools, with commands in their place."""
    if "create_problem" in hint:
        return "a problem folder of this machine may be named in its place"
    return re.sub(r"\b(list_jobs|list_targets|get_job)\b", lambda found: _COMMANDS[found[1]], hint) or None


def is_lost(error: AmdkernelError) -> bool:
    """Whether the connection failed, and not what was asked."""
    return isinstance(error, NoAnswer | NotConnected)
