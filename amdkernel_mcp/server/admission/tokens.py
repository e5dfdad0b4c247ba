"""The bearer tokens of a team, from the settings and the file that they name; never from the repository.

By hand, because a list of random tokens needs no identity provider, and a team can put one in front.
"""

from __future__ import annotations

import ipaddress
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amdkernel_mcp.access.scopes import refuse_name
from amdkernel_mcp.access.tokens import TokenStore, digest_of
from amdkernel_mcp.errors import InputError, SettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from amdkernel_mcp.config import Settings

SHORTEST = 16
SETTLED_S = 2.0
"""A file changed more lately than this is read again each time: its next change may have the same time."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Users:
    """Who may use a server as it starts. `oidc`: also those for whom an identity provider vouches."""

    names: frozenset[str]
    oidc: bool

    def __bool__(self) -> bool:
        return bool(self.names) or self.oidc


def known_users(settings: Settings) -> Users:
    """All users with a valid token now. Raises SettingsError as `read_tokens` does, DatabaseError."""
    from amdkernel_mcp.access.opened import open_access

    if settings.oidc_issuer is None and (settings.oidc_audience or settings.oidc_jwks_uri or settings.oidc_public_key):
        raise SettingsError("oidc_issuer is not set, so no token of an identity provider would be accepted")
    listed = frozenset(read_tokens(settings).values())
    engine = open_access(settings)
    try:
        return Users(listed | TokenStore(engine).users(), oidc=settings.oidc_issuer is not None)
    finally:
        engine.dispose()


class ListedTokens:
    """The tokens of the settings and of the tokens file, which is read again when it changes. Only digests are kept.

    While the file cannot be used its tokens are refused, since the change may have been to revoke one.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._seen: _Seen | None = None
        self._complaint: str | None = None
        self._users: dict[str, str] = {}
        self._refresh()

    def user(self, token: str) -> str | None:
        """Whose token this is."""
        self._refresh()
        return self._users.get(digest_of(token))

    def _refresh(self) -> None:
        file = self._settings.tokens_file
        seen = _look_at(file) if file is not None else _NO_FILE
        if seen == self._seen and seen.settled:
            return
        complaint = None
        try:
            listed = read_tokens(self._settings)
        except SettingsError as error:
            place = ":".join(str(part) for part in (error.file, error.line) if part is not None)
            complaint = f"{place}: {error.message}"
            listed = read_tokens(self._settings.model_copy(update={"tokens_file": None}))
        if complaint is not None and complaint != self._complaint:
            _log.error("%s; its tokens are refused until it is right", complaint)
        self._users = {digest_of(token): name for token, name in listed.items()}
        self._seen, self._complaint = seen, complaint


@dataclass(frozen=True)
class _Seen:
    """What differs once a file has changed."""

    identity: tuple[int, ...]
    settled: bool


_NO_FILE = _Seen((), settled=True)


def _look_at(file: Path) -> _Seen:
    try:
        found = file.stat()
    except OSError:
        return _Seen((), settled=False)
    identity = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode)
    return _Seen(identity, settled=abs(time.time() - found.st_ctime) > SETTLED_S)


def read_tokens(settings: Settings) -> dict[str, str]:
    """Token and name of each user; empty when no tokens are set.

    Raises SettingsError, never with a token in its message: for a file that cannot be read or that other users of this
    machine can read, a line that is not `TOKEN NAME`, a token shorter than 16 characters or used for two users, a name
    that no user can have.
    """
    tokens = dict(settings.tokens)
    for token, name in tokens.items():
        _refuse_weak(token, name, None, None)
    file = settings.tokens_file
    if file is None:
        return tokens
    try:
        if file.stat().st_mode & 0o077:
            raise SettingsError("other users can read the tokens file", file=str(file), hint=f"chmod 600 {file}")
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"cannot read the tokens file: {getattr(error, 'strerror', error)}", file=str(file)
        ) from None
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2:
            raise SettingsError("the line is not `TOKEN NAME`", file=str(file), line=number)
        token, name = words
        _refuse_weak(token, name, str(file), number)
        if tokens.get(token, name) != name:
            raise SettingsError(f"{name} and {tokens[token]} have the same token", file=str(file), line=number)
        tokens[token] = name
    if not tokens:
        raise SettingsError("the tokens file has no users", file=str(file))
    return tokens


def require_users(host: str, users: Users) -> None:
    """Raises SettingsError for an address that other machines can reach while no user has a token."""
    if not users and not is_loopback(host):
        raise SettingsError(
            f"other machines can reach {host}, and no bearer tokens are set",
            hint="make one with `amdkernel admin tokens add NAME`, or serve on 127.0.0.1",
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`; any name but localhost counts as reachable."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _refuse_weak(token: str, name: str, file: str | None, line: int | None) -> None:
    try:
        refuse_name(name)
    except InputError as error:
        raise SettingsError(error.message, file=file, line=line, hint=error.hint) from None
    if len(token) < SHORTEST:
        raise SettingsError(
            f"the token of {name} is shorter than {SHORTEST} characters",
            file=file,
            line=line,
            hint='make one: python3 -c "import secrets; print(secrets.token_urlsafe(32))"',
        )
