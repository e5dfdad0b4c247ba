"""Tokens in the database: added and revoked while servers run.

Only the SHA-256 of a token is stored. A token has 256 random bits, too many to try: the slow hash and the
salt that a password needs would protect nothing here, and cost every request. The database looks the digest up by its
index; how long that takes says something about digests, from which no token follows.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row, insert, select, update

from amdkernel_mcp.access.scopes import SCOPES, Scope, known_scopes, refuse_name
from amdkernel_mcp.database.open_database import now_in, reading, writing
from amdkernel_mcp.database.tables import tokens
from amdkernel_mcp.errors import DatabaseError, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Engine

PREFIX = "amdk_"
SHAPE = re.compile(r"amdk_[A-Za-z0-9_-]{43}")
"""What no text can be a token without: others cost no look into the database."""

USED_EVERY_S = 60.0
"""How exact `last_used` is: not every request writes."""


@dataclass(frozen=True)
class StoredToken:
    """A token without its text. Times are seconds since 1970 by the clock of the database."""

    id: str
    user: str
    scopes: tuple[Scope, ...]
    created_s: float
    expires_s: float | None
    last_used_s: float | None
    revoked_s: float | None
    now_s: float

    @property
    def valid(self) -> bool:
        """Neither revoked nor expired."""
        return self.revoked_s is None and (self.expires_s is None or self.now_s < self.expires_s)


class TokenStore:
    """The tokens of all users. Thread-safe. Methods raise DatabaseError."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._now = now_in(engine).label("now")

    def add(self, user: str, scopes: Iterable[str], *, days: float | None = None) -> tuple[str, StoredToken]:
        """A new token, whose text is nowhere afterwards. Raises InputError for a name, scope or age."""
        refuse_name(user)
        wanted = known_scopes(scopes)
        if days is not None and not 0 < days <= 36500:
            raise InputError("a token is valid for more than 0 and at most 36500 days")
        text = PREFIX + secrets.token_urlsafe(32)
        with writing(self._engine) as connection:
            now = float(connection.execute(select(self._now)).scalar_one())
            row: dict[str, Any] = {"id": secrets.token_hex(4), "digest": digest_of(text), "user": user}
            row |= {"scopes": " ".join(wanted), "created": now, "expires": now + days * 86400.0 if days else None}
            connection.execute(insert(tokens).values(row))
        return text, StoredToken(row["id"], user, wanted, now, row["expires"], None, None, now)

    def list(self) -> Sequence[StoredToken]:
        """All tokens, also revoked and expired ones, by user and age."""
        with reading(self._engine) as connection:
            found = connection.execute(select(tokens, self._now).order_by(tokens.c.user, tokens.c.created))
            return [_stored(row) for row in found]

    def revoke(self, token_id: str) -> StoredToken:
        """Revoke a token for good. Raises InputError for an id that no token has."""
        with writing(self._engine) as connection:
            mine = tokens.c.id == token_id
            connection.execute(update(tokens).where(mine, tokens.c.revoked.is_(None)).values(revoked=self._now))
            row = connection.execute(select(tokens, self._now).where(mine)).first()
        if row is None:
            raise InputError(f"there is no token {token_id[:80]!r}", hint=self._ids_of(token_id))
        return _stored(row)

    def rotate(self, token_id: str, *, overlap_s: float = 0.0) -> tuple[str, StoredToken]:
        """A new token with the user, scopes and end of a valid one, which is valid for `overlap_s` more at most.

        Raises InputError for an id that no valid token has.
        """
        old = next((token for token in self.list() if token.id == token_id and token.valid), None)
        if old is None:
            raise InputError(f"there is no valid token {token_id[:80]!r}", hint=self._ids_of(token_id))
        text, new = self.add(old.user, old.scopes)
        ends = min(old.now_s + overlap_s, old.expires_s or float("inf"))
        with writing(self._engine) as connection:
            connection.execute(update(tokens).where(tokens.c.id == new.id).values(expires=old.expires_s))
            if overlap_s > 0:
                connection.execute(update(tokens).where(tokens.c.id == token_id).values(expires=ends))
        if overlap_s <= 0:
            self.revoke(token_id)
        return text, replace(new, expires_s=old.expires_s)

    def _ids_of(self, user: str) -> str:
        """For whoever names a user where an id is wanted."""
        ids = [token.id for token in self.list() if token.user == user and token.valid]
        if not ids:
            return "`amdkernel admin tokens list` shows the ids"
        return f"the valid tokens of {user}: {', '.join(ids[:20])}" + (", ..." if len(ids) > 20 else "")

    def find(self, text: str) -> StoredToken | None:
        """The token with this text, if it is valid; it counts as used."""
        if not SHAPE.fullmatch(text):
            return None
        mine = tokens.c.digest == digest_of(text)
        with reading(self._engine) as connection:
            row = connection.execute(select(tokens, self._now).where(mine)).first()
        found = _stored(row) if row is not None else None
        if found is None or not found.valid:
            return None
        if found.last_used_s is None or found.now_s - found.last_used_s >= USED_EVERY_S:
            with suppress(DatabaseError), writing(self._engine) as connection:  # a full disk refuses no user
                connection.execute(update(tokens).where(mine).values(last_used=self._now))
        return found

    def users(self) -> set[str]:
        """Who has a valid token."""
        return {token.user for token in self.list() if token.valid}


def digest_of(text: str) -> str:
    """What is stored of a token."""
    return hashlib.sha256(text.encode()).hexdigest()


def _stored(row: Row[Any]) -> StoredToken:
    return StoredToken(
        id=row.id,
        user=row.user,
        scopes=tuple(scope for scope in SCOPES if scope in row.scopes.split()),  # not those of a newer version
        created_s=row.created,
        expires_s=row.expires,
        last_used_s=row.last_used,
        revoked_s=row.revoked,
        now_s=float(row.now),
    )
