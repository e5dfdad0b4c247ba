"""What `amdkernel-mcp --url` takes: the address of a team's server and the place of the user's token."""

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.server.address import TOKEN_VARIABLE, checked_url

TOKEN_BYTES = 16 << 10

_NAMES = ("--url", "--token-file")


class FrontOptions:
    """The options, checked. Raises InputError for others, and for a URL that is none."""

    def __init__(self, arguments: list[str]) -> None:
        found: dict[str, str] = {}
        while arguments:
            word, *arguments = arguments
            name, equals, value = word.partition("=")
            if name in ("--read-only", "--tools"):
                raise InputError(f"{name} is decided by the server at --url, not here")
            if name not in _NAMES or not (equals or arguments):
                raise InputError(f"unknown argument or no value: {word}; see --help")
            found[name] = value if equals else arguments.pop(0)
        if "--url" not in found:
            raise InputError("--token-file needs --url")
        self.url = checked_url(found["--url"])
        _warn_of_plain_text(self.url)
        file = found.get("--token-file")
        self._token_file = Path(os.path.expanduser(file)) if file else None

    def token(self) -> str | None:
        """The token as it is now, from the file or the environment; None when there is none.

        Raises InputError for a file that cannot be read or that other users can read. No message has the token.
        """
        if self._token_file is None:
            return _checked(os.environ.get(TOKEN_VARIABLE, ""), f"the environment variable {TOKEN_VARIABLE}") or None
        name = str(self._token_file)
        try:
            with self._token_file.open("rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                if os.name == "posix" and mode & 0o077:
                    raise InputError("other users can read the token file", file=name, hint=f"chmod 600 {name}")
                text = file.read(TOKEN_BYTES).decode("ascii", errors="replace")
        except OSError as error:
            raise InputError(f"the token file cannot be read: {error.strerror}", file=name) from None
        found = _checked(text, f"the token file {name}")
        if not found:
            raise InputError("the token file is empty", file=name)
        return found


def _checked(text: str, where: str) -> str:
    token = text.strip()
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise InputError(f"{where} does not have one token and nothing else")
    return token


def _warn_of_plain_text(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        sys.stderr.write(f"amdkernel-mcp: {url} is not encrypted: others on the network can read token and kernels\n")
