"""The address by which clients reach a team's server, and where they find the user's token. Only light imports here."""

from urllib.parse import urlsplit

from amdkernel_mcp.errors import InputError

TOKEN_VARIABLE = "AMDK_TOKEN"  # without our prefix: it is the client's, and no setting of ours


def is_readable_by_others(url: str) -> bool:
    """Whether what is sent there passes the network as plain text."""
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1")


def checked_url(text: str) -> str:
    """The URL of an MCP endpoint; `/mcp` is added to one without a path. Raises InputError for anything else."""
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
    except ValueError:
        known = False
    if not known or not text.isprintable() or " " in text:
        raise InputError(f"{text[:200]!r} is not a URL like https://gpu.example/mcp")
    if parts.username is not None:
        raise InputError("the URL must not have a user or password", hint="--token-file FILE names the token's file")
    return parts._replace(path=parts.path if parts.path.strip("/") else "/mcp", fragment="").geturl()
