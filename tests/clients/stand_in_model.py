"""A stand-in for a model's server on the loop-back interface: it decides which tool the real client calls next.

A script decides: a generator that yields calls, is sent their answers as the model sees them, and returns when the loop
is done. What it asserts fails the test; the client gets a last message in any case, so that it ends.
"""

import json
import threading
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

Json = dict[str, Any]


@dataclass(frozen=True)
class OfferedTool:
    """A tool as the client offers it to the model. `address`: what the model must send to call it."""

    address: Json
    description: str
    parameters: frozenset[str]


@dataclass(frozen=True)
class Call:
    """What the model wants next."""

    tool: str
    arguments: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """A tool's answer, as the text that the model reads. `failed`: None where the client does not pass that on."""

    text: str
    failed: bool | None = None


Tools = dict[str, OfferedTool]
Script = Generator[Call, Answer, None]


@dataclass(frozen=True)
class Request:
    """One request of a client. `number`: how many tools the model has called before, which makes ids unique."""

    path: str
    body: Json
    number: int


class Dialect(Protocol):
    """How one API writes tools, answers and the model's reply.

    `counting`: what the path of a request that only counts tokens contains, and the answer to it.
    """

    counting: tuple[str, Json] | None

    def tools(self, body: Json) -> Tools:
        """The tools of a request by the names that the client gives them; none in a request on the side."""

    def answers(self, body: Json) -> list[Answer]:
        """The answers of all tool calls so far, in order."""

    def reply(self, request: Request, said: str | tuple[OfferedTool, Json]) -> tuple[str, bytes]:
        """Content type and text of the model's message: some words, or a call of a tool."""


class StandInModel:
    """One conversation. `calls` counts what was called, `failure` is why the script ended early."""

    def __init__(self, dialect: Dialect, script: Callable[[Tools], Script]) -> None:
        self.url = ""
        self.calls: list[str] = []
        self.done = False
        self.failure: BaseException | None = None
        self._dialect, self._new_script = dialect, script
        self._script: Script | None = None
        self._next: Call | str = ""
        self._lock = threading.Lock()

    def respond(self, path: str, body: Json) -> tuple[str, bytes]:
        """The reply to one request. A request that is repeated gets the same reply."""
        with self._lock:
            if self._dialect.counting and self._dialect.counting[0] in path:
                return "application/json", json.dumps(self._dialect.counting[1]).encode()
            tools = self._dialect.tools(body)
            if not tools:  # a title for the conversation and the like
                return self._dialect.reply(Request(path, body, 0), "Kernels")
            self._advance(tools, self._dialect.answers(body))
            call = self._next
            said = call if isinstance(call, str) else (tools[call.tool], call.arguments)
            return self._dialect.reply(Request(path, body, len(self.calls)), said)

    def _advance(self, tools: Tools, answers: list[Answer]) -> None:
        if self._script is None:
            self._script = self._new_script(tools)
            self._step(lambda script: next(script))
        elif len(answers) == len(self.calls) and not isinstance(self._next, str):
            self._step(lambda script: script.send(answers[-1]))

    def _step(self, step: Callable[[Script], Call]) -> None:
        assert self._script
        try:
            self._next = step(self._script)
            self.calls.append(self._next.tool)
        except StopIteration:
            self.done, self._next = True, "The loop is done."
        except Exception as failure:
            self.failure, self._next = failure, "The loop has failed."


@contextmanager
def serve(model: StandInModel) -> Iterator[StandInModel]:
    """Serve `model` at `model.url`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send("application/json", b'{"data": [], "models": []}')

        do_HEAD = do_GET

        def do_POST(self) -> None:
            body = json.loads(_body(self) or b"{}")
            try:
                self._send(*model.respond(self.path, body))
            except Exception as failure:  # a bug of the stand-in must fail the test, not only this request
                model.failure = model.failure or failure
                self.send_error(400)

        def _send(self, content_type: str, content: bytes) -> None:
            self.send_response(200)
            self.send_header("content-type", content_type)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _body(request: BaseHTTPRequestHandler) -> bytes:
    if "chunked" in request.headers.get("transfer-encoding", "").lower():
        content = b""
        while size := int(request.rfile.readline().strip() or b"0", 16):
            content += request.rfile.read(size)
            request.rfile.readline()
        request.rfile.readline()
    else:
        content = request.rfile.read(int(request.headers.get("content-length") or 0))
    return zlib.decompress(content, 47) if request.headers.get("content-encoding") == "gzip" else content
