"""Who a bearer token stands for, as FastMCP verifies it: for each request, also on open connections and sessions."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from fastmcp.server.auth import AccessToken, TokenVerifier

from amdkernel_mcp.access.scopes import USUAL
from amdkernel_mcp.access.tokens import SHAPE, TokenStore, digest_of
from amdkernel_mcp.errors import DatabaseError
from amdkernel_mcp.server.admission.tokens import ListedTokens

if TYPE_CHECKING:
    from amdkernel_mcp.server.admission.identity_provider import IdentityProvider

REMEMBERED_S = 2.0
"""A revoked token stops working after this time at the latest."""

_MOST_REMEMBERED = 4096
_log = logging.getLogger(__name__)


class TeamTokens(TokenVerifier):
    """Tokens of the tokens file, of the database, and of an identity provider. Only digests are kept and compared."""

    def __init__(
        self, listed: ListedTokens, store: TokenStore | None = None, provider: IdentityProvider | None = None
    ) -> None:
        super().__init__()
        self._listed = listed
        self._store = store
        self._provider = provider
        self._remembered: dict[str, tuple[float, AccessToken]] = {}

    async def verify_token(self, token: str) -> AccessToken | None:
        """Whose token it is and what it is good for; None when it is not valid, or cannot be verified now."""
        if (user := self._listed.user(token)) is not None:
            return AccessToken(token=token, client_id=user, scopes=list(USUAL), subject=user)
        if self._store is not None and SHAPE.fullmatch(token):
            return await self._stored(self._store, token)
        return await self._provider.verify(token) if self._provider is not None else None

    async def _stored(self, store: TokenStore, token: str) -> AccessToken | None:
        digest = digest_of(token)
        until, found = self._remembered.get(digest, (0.0, None))
        if time.monotonic() < until:
            return found
        self._remembered.pop(digest, None)
        asked = time.monotonic()
        try:
            stored = await asyncio.to_thread(store.find, token)
        except DatabaseError as error:
            _log.error("tokens cannot be verified, and are refused: %s", error.message)
            return None
        if stored is None:
            return None
        found = AccessToken(
            token=token,
            client_id=stored.user,
            scopes=list(stored.scopes),
            subject=stored.user,
            expires_at=int(stored.expires_s) if stored.expires_s is not None else None,
            claims={"token": stored.id},
        )
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[digest] = (asked + REMEMBERED_S, found)
        return found
