"""Limits of the server, in one place; docs/serve.md states them and a test compares. Only light imports here."""

REQUESTS_PER_S = 100.0
"""Of one user, whose agents share it. Work that takes time waits in the queue of jobs instead."""

REQUEST_BURST = 1000
"""Requests that a user may send at once after a pause."""

MESSAGE_BYTES = 4 << 20
"""Longest JSON-RPC message. A kernel is at most 1 MiB, a comparison sends two. The MCP library's limit over HTTP."""

TOO_LONG = {
    "code": -32600,
    "message": f"the message is longer than {MESSAGE_BYTES >> 20} MiB; send a kernel of at most 1 MiB",
}
"""The JSON-RPC error that answers a longer message."""

HEADER_S = 10.0
"""In which the first request of a connection, and then the header of each, must be complete."""

BODY_S = 60.0
"""In which the rest of a request must follow its header."""

KEPT_S = 30
"""For which a connection is kept for a next request."""

HEADER_BYTES = 32 << 10
"""Longest header of a request."""

MOST_CONNECTIONS = 4096
"""Of all addresses together; half the files that the process may open, if that is less."""
