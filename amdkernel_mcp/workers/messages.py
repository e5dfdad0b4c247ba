"""What a server and a worker say to each other: MessagePack in binary frames of a WebSocket, all of it validated.

MessagePack, because outputs are bytes, and JSON would write a control character of stderr in six. A frame is at most
FRAME_BYTES, files and outputs come in pieces, and whoever breaks a rule is disconnected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from amdkernel_mcp.errors import SandboxError
from amdkernel_mcp.execution.sandbox import SandboxKind
from amdkernel_mcp.results.job_answer import Isolation

FRAME_BYTES = 2 << 20
PIECE_BYTES = 512 << 10
MOST_GPUS = 64
MOST_RUNS = 256

LEASE_S = 15.0
"""After which a run that its worker did not renew is lost."""
RENEW_S = 3.0
HELLO_S = 10.0
"""In which a worker must introduce itself."""

PATH = "/worker"
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"
_KEY = r"^[A-Za-z0-9_.-]{16,200}$"

Fence = Annotated[int, Field(ge=0, lt=1 << 63)]
_Piece = Annotated[bytes, Field(max_length=PIECE_BYTES)]
_Text = Annotated[str, Field(max_length=2000)]
_Seconds = Annotated[float, Field(ge=0, le=7 * 86400, allow_inf_nan=False)]


class MessageError(SandboxError):
    """What came is not a message of this protocol."""


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class OfferedGpu(_Message):
    """A GPU of the worker's host, as its driver lists it."""

    index: int = Field(ge=0, le=999)
    arch: str = Field(pattern=r"^gfx[0-9a-f]{3,5}$")
    name: str = Field(min_length=1, max_length=100)
    render_node: str = Field(pattern=r"^/dev/dri/renderD[0-9]{1,6}$")
    unique_id: str | None = Field(pattern=r"^[0-9a-f]{16}(-[0-9]{1,3})?$")


class Hello(_Message):
    """The first message of a worker. `build`: a hash of what its sandbox image is made from. `may_reset`: its GPUs."""

    type: Literal["hello"] = "hello"
    version: str = Field(max_length=100)
    build: str = Field(max_length=200)
    name: str = Field(pattern=NAME)
    key: str | None = Field(default=None, pattern=_KEY)
    image_id: str = Field(max_length=200)
    isolation: Isolation
    emulator: bool
    may_reset: bool = False
    slots: int = Field(ge=1, le=MOST_RUNS)
    gpus: list[OfferedGpu] = Field(max_length=MOST_GPUS)


class Renew(_Message):
    """The worker still works on these runs; all others of its are over."""

    type: Literal["renew"] = "renew"
    fences: list[Fence] = Field(max_length=MOST_RUNS)


class Draining(_Message):
    """The worker takes no new job. It finishes those that have begun on it, and goes once it is released."""

    type: Literal["draining"] = "draining"


class Lines(_Message):
    """Whole lines of stderr, each with its line feed."""

    type: Literal["lines"] = "lines"
    fence: Fence
    text: str = Field(max_length=PIECE_BYTES)


class Took(_Message):
    """The last piece of stdin is with the job: the next one may come."""

    type: Literal["took"] = "took"
    fence: Fence


class Output(_Message):
    """A piece of the tar of the output files."""

    type: Literal["output"] = "output"
    fence: Fence
    data: _Piece


class Done(_Message):
    """How a run ended; its output files came before."""

    type: Literal["done"] = "done"
    fence: Fence
    exit_code: int = Field(ge=-255, le=255)
    stderr: str = Field(max_length=PIECE_BYTES)
    timed_out: bool
    out_of_memory: bool
    truncated: bool
    stderr_cut: bool
    seconds: _Seconds
    output_bytes: int = Field(ge=0)


class Failed(_Message):
    """The sandbox of a run failed, and says nothing about what ran in it."""

    type: Literal["failed"] = "failed"
    fence: Fence
    error: Literal["sandbox", "toolchain", "target"]
    message: _Text
    hint: _Text | None


class Welcome(_Message):
    """The worker is accepted."""

    type: Literal["welcome"] = "welcome"
    server_version: str


class Refused(_Message):
    """The worker is not accepted. `again`: it may be later."""

    type: Literal["refused"] = "refused"
    message: str
    hint: str | None = None
    again: bool = False


class Start(_Message):
    """Take this run. Its files follow as a tar of `archive_bytes`. `gpu`: its index; None for one without."""

    type: Literal["start"] = "start"
    fence: Fence
    gpu: int | None
    kind: SandboxKind
    command: list[str]
    timeout_s: _Seconds
    output_limit_bytes: int = Field(ge=0)
    wants_lines: bool
    has_stdin: bool
    archive_bytes: int = Field(ge=0, le=4 << 30)


class Files(_Message):
    """A piece of the tar of a run's files."""

    type: Literal["files"] = "files"
    fence: Fence
    data: _Piece


class Stdin(_Message):
    """What the job reads next on its stdin; the next one is sent when this one is taken."""

    type: Literal["stdin"] = "stdin"
    fence: Fence
    data: _Piece
    end: bool


class Reset(_Message):
    """Reset this GPU; the answer is as that of a run, with what AMD's tool printed as stderr."""

    type: Literal["reset"] = "reset"
    fence: Fence
    gpu: int = Field(ge=0, le=999)


class Cancel(_Message):
    """This run is over for the server: end its container."""

    type: Literal["cancel"] = "cancel"
    fence: Fence


class End(_Message):
    """The session of this key is over."""

    type: Literal["end"] = "end"


class Release(_Message):
    """No job has begun on this worker that drains: it may go once its runs are over."""

    type: Literal["release"] = "release"


FromWorker = Hello | Renew | Draining | Lines | Took | Output | Done | Failed
FromServer = Welcome | Refused | Start | Reset | Files | Stdin | Cancel | End | Release

_FROM_WORKER: TypeAdapter[FromWorker] = TypeAdapter(Annotated[FromWorker, Field(discriminator="type")])
_FROM_SERVER: TypeAdapter[FromServer] = TypeAdapter(Annotated[FromServer, Field(discriminator="type")])


def encode(message: FromWorker | FromServer) -> bytes:
    """The frame of a message."""
    import msgpack

    packed: bytes = msgpack.packb(message.model_dump(), unicode_errors="replace")
    return packed


def from_worker(frame: bytes) -> FromWorker:
    """The message of a frame. Raises MessageError."""
    message: FromWorker = _read(_FROM_WORKER, frame)
    return message


def from_server(frame: bytes) -> FromServer:
    """The message of a frame. Raises MessageError."""
    message: FromServer = _read(_FROM_SERVER, frame)
    return message


def _read(adapter: TypeAdapter[Any], frame: bytes) -> Any:
    import msgpack  # a server without workers needs none

    if len(frame) > FRAME_BYTES:
        raise MessageError(f"a message is longer than {FRAME_BYTES >> 20} MiB")
    try:
        return adapter.validate_python(msgpack.unpackb(frame, strict_map_key=True))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part)[:40] for part in first["loc"][:4])
        raise MessageError(f"not a message of this protocol: {place}: {first['msg'][:200]}") from None
    except (ValueError, TypeError, RecursionError) as error:  # msgpack's errors, and keys that cannot be hashed
        raise MessageError(f"not a message of this protocol: {type(error).__name__}") from None


def pieces(data: bytes) -> Iterator[bytes]:
    """`data` in parts that fit into a message."""
    for start in range(0, len(data), PIECE_BYTES):
        yield data[start : start + PIECE_BYTES]
