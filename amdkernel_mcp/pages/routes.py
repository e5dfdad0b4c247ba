"""The routes of the page. They are next to /mcp and behind the same checks of host and origin, which the server makes.

Everything but signing in and out, starting one's own job again, and the cancelling of jobs, one's own or as an
admin, only reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qs

from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response

from amdkernel_mcp.errors import AmdkernelError, InputError
from amdkernel_mcp.pages.asked import Asked
from amdkernel_mcp.pages.attempt import view_of
from amdkernel_mcp.pages.attempts import attempts_of
from amdkernel_mcp.pages.leaderboard import Boards
from amdkernel_mcp.pages.related import related
from amdkernel_mcp.pages.render import FOLDER, HEADERS, Standalone, page
from amdkernel_mcp.pages.sign_in import Known, SignIn, Verify, Viewer
from amdkernel_mcp.pages.status import Running, status_of
from amdkernel_mcp.pages.stream import Streams, home_parts, live_values
from amdkernel_mcp.pages.team import TeamPages, job_of, retried

if TYPE_CHECKING:
    from starlette.requests import Request

Handler = Callable[["Request"], Awaitable[Response]]
Route = tuple[str, Sequence[str], Handler]
_Seen = Callable[["Request", Running, Viewer], Awaitable[Response]]

Note = Callable[["Request", Viewer | None, str, str | None, Literal["done", "refused"], str | None], None]

FORM_BYTES = 16 << 10
_STATIC = {
    "page.css": "text/css",
    "live.js": "text/javascript",
    "page.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
_UNKNOWN = "No token is known by this text. Copy all of it, without spaces."


class Pages:
    """The handlers of one server. `running`: None before the start and after the end."""

    def __init__(self, sign_in: SignIn, running: Callable[[], Running | None], note: Note = lambda *_: None) -> None:
        """`note`: writes to the audit log who did what to which job, whether it was refused, and
        the job's owner where that is someone else."""
        self._note = note
        self._sign_in = sign_in
        self._running = running
        self._streams = Streams(sign_in)
        self._boards = Boards()
        self._team = TeamPages(self._boards, self._streams, self._note_of_another)

    def routes(self) -> list[Route]:
        """Path, methods and handler of each route."""
        seen = self._for_viewers
        return [
            ("/", ["GET"], seen(self._home)),
            ("/events", ["GET"], seen(self._events)),
            ("/status.json", ["GET"], seen(self._status)),
            ("/attempts/{attempt}", ["GET"], seen(self._attempt)),
            ("/attempts/{attempt}/profile", ["GET"], seen(self._profile)),
            *((path, ["GET"], seen(handler)) for path, handler in self._team.routes()),
            ("/jobs/{job}/cancel", ["POST"], seen(self._cancel)),
            ("/jobs/{job}/retry", ["POST"], seen(self._retry)),
            ("/sign-in", ["POST"], self._open_session),
            ("/sign-out", ["POST"], seen(self._end_session)),
            ("/favicon.ico", ["GET"], _file("icon.svg", _STATIC["icon.svg"])),  # asked for by pages that are not ours
            *((f"/static/{name}", ["GET"], _file(name, kind)) for name, kind in _STATIC.items()),
        ]

    async def _home(self, request: Request, running: Running, viewer: Viewer) -> Response:
        asked = Asked.of(request.query_params)
        status = await asyncio.to_thread(status_of, running, viewer.user, admin=viewer.is_admin)
        attempts = await asyncio.to_thread(attempts_of, running, viewer, asked, self._boards)
        return page("home.html", live_values(status, viewer) | attempts)

    async def _events(self, request: Request, running: Running, viewer: Viewer) -> Response:
        asked = Asked.of(request.query_params)
        return self._streams.answer(request, viewer, home_parts(running, viewer, asked, self._boards))

    async def _status(self, _: Request, running: Running, viewer: Viewer) -> Response:
        status = await asyncio.to_thread(status_of, running, viewer.user, admin=viewer.is_admin)
        return JSONResponse(status.model_dump(mode="json"), headers={"cache-control": "no-store"})

    async def _attempt(self, request: Request, running: Running, viewer: Viewer) -> Response:
        name = request.path_params["attempt"]
        shown = await asyncio.to_thread(running.engine.attempts.show, name, by=viewer.by)
        self._note_of_another(request, viewer, "page: attempt", shown.attempt["by"])

        def made() -> dict[str, Any]:
            seen = {each.problem for each in self._boards.seen_by(running, viewer)}
            linked = (shown.attempt.get("problem") or {}).get("name") in seen
            job = job_of(running, shown.attempt["id"], shown.attempt["by"])
            return {
                "job": job,
                "view": view_of(shown),
                "linked": linked,
                "more": related(running.engine.attempts, shown.attempt),
            }

        values = {"viewer": viewer, "it": shown.attempt, "shown": shown}
        return page("attempt.html", values | await asyncio.to_thread(made))

    def _note_of_another(self, request: Request, viewer: Viewer, action: str, owner: str) -> None:
        """Write down that an admin opened what another user made."""
        if owner != viewer.user:
            self._note(request, viewer, action, None, "done", owner)

    async def _profile(self, request: Request, running: Running, viewer: Viewer) -> Response:
        def made() -> tuple[Standalone, str]:
            from amdkernel_mcp.pages.profile import recorded_page
            from amdkernel_mcp.profiling.kept_details import kept_details

            attempt = running.engine.attempts.show(request.path_params["attempt"], by=viewer.by).attempt
            details = kept_details(running.engine.answers, attempt["id"])
            return recorded_page(attempt, details, linked=True), attempt["by"]

        shown, owner = await asyncio.to_thread(made)
        self._note_of_another(request, viewer, "page: profile", owner)
        return shown.answer()

    async def _cancel(self, request: Request, running: Running, viewer: Viewer) -> Response:
        if not self._sign_in.is_own_form(viewer, (await _form(request)).get("csrf", "")):
            return _message(viewer, 403, "Not cancelled", "This page was too old. Open the overview and try again.")
        if not viewer.may_cancel:
            self._note(request, viewer, "page: cancel", request.path_params["job"], "refused", None)
            return _message(viewer, 403, "Not cancelled", "This needs a token with a scope that starts jobs.")
        job = await asyncio.to_thread(running.jobs.find, request.path_params["job"], viewer.by)
        await asyncio.to_thread(running.jobs.cancel, job)
        self._note(request, viewer, "page: cancel", job.id, "done", None if job.owner == viewer.user else job.owner)
        return RedirectResponse("/", 303)

    async def _retry(self, request: Request, running: Running, viewer: Viewer) -> Response:
        if not self._sign_in.is_own_form(viewer, (await _form(request)).get("csrf", "")):
            return _message(viewer, 403, "Not started", "This page was too old. Open the job and try again.")
        answer = await retried(request.path_params["job"], running, viewer)
        done: Literal["done", "refused"] = "done" if answer.status_code == 303 else "refused"
        self._note(request, viewer, "page: retry", request.path_params["job"], done, None)
        return answer

    async def _open_session(self, request: Request) -> Response:
        back = RedirectResponse("/", 303)
        viewer = await self._sign_in.sign_in(request, (await _form(request)).get("token", "").strip(), back)
        self._note(request, viewer, "page: sign in", None, "done" if viewer else "refused", None)
        if viewer:
            return back
        return page("sign_in.html", {"viewer": None, "refused": _UNKNOWN}, 401)

    async def _end_session(self, request: Request, _: Running, viewer: Viewer) -> Response:
        if not self._sign_in.is_own_form(viewer, (await _form(request)).get("csrf", "")):
            return _message(viewer, 403, "Not signed out", "This page was too old. Open the overview and try again.")
        back = RedirectResponse("/", 303)
        self._sign_in.sign_out(request, back)
        return back

    def _for_viewers(self, handler: _Seen) -> Handler:
        """The handler with who asks; the sign-in form, or a refusal, for all others."""

        @wraps(handler)
        async def answer(request: Request) -> Response:
            viewer = await self._sign_in.viewer(request)
            if viewer is None:
                return _sign_in_first(request)
            if not viewer.may_see:
                return _message(viewer, 403, "Not allowed", "This needs a token with the scope `docs`.")
            running = self._running()
            if running is None:
                return _message(viewer, 503, "Not ready", "The server is starting or ending.")
            try:
                return await handler(request, running, viewer)
            except InputError as error:
                return _message(viewer, 404, "Not found", error.message)
            except AmdkernelError:  # its message may name a path of this server
                return _message(viewer, 500, "Not available", "The server cannot read this now; its doctor says why.")

        return answer


def _sign_in_first(request: Request) -> Response:
    """The form where a person opens a page, else a refusal that a program reads."""
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        return page("sign_in.html", {"viewer": None, "refused": None}, 401)
    refusal = JSONResponse({"error": {"message": "a known token is needed"}}, status_code=401)
    refusal.headers["www-authenticate"] = "Bearer"
    return refusal


def _message(viewer: Viewer, status: int, title: str, text: str) -> Response:
    return page("message.html", {"viewer": viewer, "title": title, "text": text}, status)


async def _form(request: Request) -> dict[str, str]:
    """The first value of each field; nothing of a form that is too long, no form, or not sent to its end."""
    from starlette.requests import ClientDisconnect

    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > FORM_BYTES:
                return {}
        fields = parse_qs(body.decode(), max_num_fields=8)
    except (ClientDisconnect, ValueError):
        return {}
    return {name: values[0] for name, values in fields.items()}


def _file(name: str, kind: str) -> Handler:
    """A file of ours; it needs no sign-in, since it is the same everywhere."""

    async def answer(_: Request) -> Response:
        headers = HEADERS | {"cache-control": "no-cache"}
        return FileResponse(FOLDER / "static" / name, media_type=kind, headers=headers)

    return answer


def verifier(verify: Callable[[str], Awaitable[Any]]) -> Verify:
    """FastMCP's check of a token, as pages use it. The one place that knows how the server knows its users."""

    async def known(token: str) -> Known | None:
        found = await verify(token)
        return Known(str(found.client_id), frozenset(found.scopes)) if found else None

    return known
