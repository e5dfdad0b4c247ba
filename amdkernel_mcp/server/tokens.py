"""The bearer tokens of a team, from the settings and the file that they name; never from the repository.

By hand, because a list of random tokens needs no identity provider, and a team can put one in front.
"""

import ipaddress

from amdkernel_mcp.config import Settings
from amdkernel_mcp.errors import SettingsError

SHORTEST = 16


def read_tokens(settings: Settings) -> dict[str, str]:
    """Token and name of each user; empty when no tokens are set.

    Raises SettingsError, never with a token in its message: for a file that cannot be read or that other users of this
    machine can read, a line that is not `TOKEN NAME`, a token shorter than 16 characters or used for two users.
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


def require_tokens(host: str, tokens: dict[str, str]) -> None:
    """Raises SettingsError for an address that other machines can reach while no tokens are set."""
    if not tokens and not is_loopback(host):
        raise SettingsError(
            f"other machines can reach {host}, and no bearer tokens are set",
            hint="set tokens_file in the settings (one line per user: TOKEN NAME), or serve on 127.0.0.1",
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`; any name but localhost counts as reachable."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _refuse_weak(token: str, name: str, file: str | None, line: int | None) -> None:
    if len(token) < SHORTEST:
        raise SettingsError(
            f"the token of {name} is shorter than {SHORTEST} characters",
            file=file,
            line=line,
            hint='make one: python3 -c "import secrets; print(secrets.token_urlsafe(32))"',
        )
