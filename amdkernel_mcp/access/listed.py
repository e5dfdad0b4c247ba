"""Tokens, users and the audit log as `amdkernel admin` answers them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from amdkernel_mcp.access.scopes import SCOPES, USUAL
from amdkernel_mcp.results.access import AuditLine, AuditList, ListedToken, ListedUser, TokenList, UserList

if TYPE_CHECKING:
    from amdkernel_mcp.access.audit import Event
    from amdkernel_mcp.access.tokens import StoredToken


def token_list(tokens: Sequence[StoredToken]) -> TokenList:
    """All of them."""
    return TokenList(tokens=[listed_token(each) for each in tokens])


def listed_token(token: StoredToken) -> ListedToken:
    """One of them."""
    return ListedToken(
        id=token.id,
        user=token.user,
        scopes=list(token.scopes),
        state="revoked" if token.revoked_s is not None else "valid" if token.valid else "expired",
        created=_utc(token.created_s),
        expires=_or_none(token.expires_s),
        last_used=_or_none(token.last_used_s),
    )


def user_list(tokens: Sequence[StoredToken], in_file: Collection[str]) -> UserList:
    """Users of the database and of the tokens file. A name in both is one user."""
    return UserList(
        users=[_user(name, tokens, in_file) for name in sorted({*in_file, *(each.user for each in tokens)})]
    )


def audit_list(events: Sequence[Event]) -> AuditList:
    """The lines in the order given."""
    return AuditList(
        lines=[
            AuditLine(
                at=_utc(each.at),
                user=each.user,
                token=each.token,
                address=each.address,
                action=each.action,
                target=each.target,
                job=each.job,
                attempt=each.attempt,
                outcome=each.outcome,
                reason=each.reason,
            )
            for each in events
        ]
    )


def _user(name: str, tokens: Sequence[StoredToken], in_file: Collection[str]) -> ListedUser:
    mine = [each for each in tokens if each.user == name]
    valid = [each for each in mine if each.valid]
    held = {scope for each in valid for scope in each.scopes}.union(USUAL if name in in_file else ())
    used = [each.last_used_s for each in mine if each.last_used_s is not None]
    return ListedUser(
        name=name,
        scopes=[scope for scope in SCOPES if scope in held],
        valid_tokens=len(valid),
        in_tokens_file=name in in_file,
        last_used=_or_none(max(used, default=None)),
    )


def _or_none(seconds: float | None) -> str | None:
    return None if seconds is None else _utc(seconds)


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
