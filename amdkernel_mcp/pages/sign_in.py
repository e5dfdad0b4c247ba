"""Sessions: a user signs in with a token and then sees pages.

The cookie is a random number that means nothing elsewhere. The server keeps the token of each session and verifies it
again at every request, so that a token that was taken back ends its sessions. A restart ends all of them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response


@dataclass(frozen=True)
class Known:
    """Whose token it is, and what it is good for."""

    user: str
    scopes: frozenset[str]


Verify = Callable[[str], Awaitable[Known | None]]
"""The user and scopes of a token; None where it is not valid now."""

SEE = frozenset({"docs"})
ADMIN = "admin"
CANCEL = frozenset({"compile", "check", "gpu:time", ADMIN})
"""One of these is enough: as for the tool get_job."""

LOCAL = "local"
COOKIE = "amdkernel_session"
SESSION_S = 12 * 3600
MOST_SESSIONS = 8  # of one user: the oldest ends


@dataclass(frozen=True)
class Viewer:
    """The user of a request. `user`: as jobs and attempts name it. `csrf`: what a form of this viewer must carry; empty
    without a session. `may_see`, `may_cancel`, `is_admin`: whether the token is good for that."""

    user: str
    csrf: str
    signed_in: bool
    may_see: bool = True
    may_cancel: bool = True
    is_admin: bool = False
    scopes: frozenset[str] | None = None
    """Of the token; None without tokens, where everything is allowed."""

    @property
    def by(self) -> str | None:
        """Whose attempts and jobs may be opened; None: anyone's."""
        return None if self.is_admin else self.user


@dataclass(frozen=True)
class _Session:
    user: str
    token: str
    ends_s: float


class SignIn:
    """The sessions of one server. `verify`: None where there are no tokens, and every request is the local user's."""

    def __init__(self, verify: Verify | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._verify = verify
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._sessions: dict[str, _Session] = {}

    async def viewer(self, request: Request) -> Viewer | None:
        """The user that the `Authorization` header names, else the cookie. None: a token is needed."""
        if self._verify is None:
            return Viewer(LOCAL, self._csrf(LOCAL), signed_in=False)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme:
            known = await self._verify(token) if scheme.lower() == "bearer" and token else None
            return _viewer(known, "", signed_in=False) if known else None
        key = request.cookies.get(COOKIE, "")
        session = self._sessions.get(key)
        if session is None:
            return None
        known = await self._verify(session.token) if session.ends_s > self._clock() else None
        if known is None or known.user != session.user:
            self._sessions.pop(key, None)
            return None
        return _viewer(known, self._csrf(key), signed_in=True)

    async def sign_in(self, request: Request, token: str, response: Response) -> Viewer | None:
        """Open a session and set its cookie; None where the token is unknown."""
        known = await self._verify(token) if self._verify and token else None
        if known is None:
            return None
        self._forget(known.user)
        key = secrets.token_urlsafe(32)
        self._sessions[key] = _Session(known.user, token, self._clock() + SESSION_S)
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, key, max_age=SESSION_S, httponly=True, samesite="strict", secure=secure)
        return _viewer(known, self._csrf(key), signed_in=True)

    def sign_out(self, request: Request, response: Response) -> None:
        """End the session of this request."""
        self._sessions.pop(request.cookies.get(COOKIE, ""), None)
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")

    def is_own_form(self, viewer: Viewer, sent: str) -> bool:
        """Whether a form comes from a page that this server made for this viewer."""
        return bool(viewer.csrf) and hmac.compare_digest(viewer.csrf.encode(), sent.encode())

    def _csrf(self, key: str) -> str:
        return hmac.new(self._key, key.encode(), hashlib.sha256).hexdigest()

    def _forget(self, user: str) -> None:
        """Make room: sessions that have ended, then this user's oldest."""
        now = self._clock()
        self._sessions = {key: each for key, each in self._sessions.items() if each.ends_s > now}
        own = [key for key, each in self._sessions.items() if each.user == user]
        for key in own[: max(0, len(own) - MOST_SESSIONS + 1)]:
            del self._sessions[key]


def _viewer(known: Known, csrf: str, *, signed_in: bool) -> Viewer:
    may_see, may_cancel = bool(known.scopes & SEE), bool(known.scopes & CANCEL)
    admin = ADMIN in known.scopes
    return Viewer(f"user:{known.user}", csrf, signed_in, may_see, may_cancel, admin, known.scopes)
