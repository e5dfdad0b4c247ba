"""How many pages of a user may be open."""

import asyncio
from typing import Any, cast

from starlette.requests import Request

from amdkernel_mcp.pages.sign_in import SignIn, Viewer
from amdkernel_mcp.pages.stream import MOST_STREAMS, Streams


def test_streams_count_when_they_are_asked_for_and_no_longer_once_they_are_over() -> None:
    ann = Viewer("user:ann", "", signed_in=True)
    request = Request({"type": "http", "headers": []})
    streams = Streams(SignIn(None))
    asked = [streams.answer(request, ann, lambda _: []) for _ in range(MOST_STREAMS + 3)]
    assert [each.status_code for each in asked] == [200] * MOST_STREAMS + [429] * 3, "none of them has begun"
    assert streams.answer(request, Viewer("user:bob", "", signed_in=True), lambda _: []).status_code == 200

    async def is_gone(*_: Any) -> Any:
        raise OSError("the connection was lost before the answer began")

    async def begin() -> None:
        try:
            await asked[0](cast("Any", {"type": "http", "method": "GET", "asgi": {}}), is_gone, is_gone)
        except (OSError, BaseExceptionGroup):
            return

    asyncio.run(begin())
    assert streams.answer(request, ann, lambda _: []).status_code == 200
    assert streams.answer(request, ann, lambda _: []).status_code == 429
