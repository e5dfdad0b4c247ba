"""What `amdkernel-mcp --url` takes: the address of a team's server and the place of the user's token."""

import os
import sys
from pathlib import Path

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.server.address import checked_url, is_readable_by_others
from amdkernel_mcp.server.token_file import read_token

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
        return read_token(self._token_file)


def _warn_of_plain_text(url: str) -> None:
    if is_readable_by_others(url):
        sys.stderr.write(f"amdkernel-mcp: {url} is not encrypted: others on the network can read token and kernels\n")
