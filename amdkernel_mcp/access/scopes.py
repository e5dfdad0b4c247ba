"""What a token may be used for, and what a user may be called."""

from collections.abc import Iterable
from typing import Literal, get_args

from amdkernel_mcp.errors import InputError

Scope = Literal["docs", "compile", "check", "gpu:time", "admin", "worker"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
USUAL: tuple[Scope, ...] = ("docs", "compile", "check", "gpu:time")
"""Of a token in the tokens file, and of a new one unless others are named."""

OIDC = "oidc:"
"""What the name of a user of the identity provider begins with; no other name may."""

LONGEST_NAME = 64


def refuse_name(name: str) -> None:
    """Raises InputError for what cannot be the name of a user with a token."""
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or " " in name:
        raise InputError(f"{name[:80]!r} cannot be the name of a user", hint=f"1 to {LONGEST_NAME} visible characters")
    if name.lower().startswith(OIDC):
        raise InputError(f"{name!r} cannot be the name of a user: {OIDC} is for those of the identity provider")


def known_scopes(names: Iterable[str]) -> tuple[Scope, ...]:
    """The scopes of these names in a fixed order. Raises InputError for a name that is not a scope."""
    given = set(names)
    if unknown := sorted(given.difference(SCOPES)):
        raise InputError(f"there is no scope {unknown[0]!r}", hint=f"known are {', '.join(SCOPES)}")
    if not given:
        raise InputError("a token needs a scope", hint=f"known are {', '.join(SCOPES)}")
    if "worker" in given and len(given) > 1:
        raise InputError("the token of a worker has no other scope", hint="make another token for the user")
    return tuple(scope for scope in SCOPES if scope in given)
