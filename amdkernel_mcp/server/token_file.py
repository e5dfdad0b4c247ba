"""The token of whoever calls a server: from a file of theirs, or from the environment."""

import os
from pathlib import Path

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.server.address import TOKEN_VARIABLE

TOKEN_BYTES = 16 << 10


def read_token(file: Path | None) -> str | None:
    """The token as it is now in `file`, else in the environment; None when there is none.

    Raises InputError for a file that cannot be read or that other users can read. No message has the token.
    """
    if file is None:
        return _checked(os.environ.get(TOKEN_VARIABLE, ""), f"the environment variable {TOKEN_VARIABLE}") or None
    name = str(file)
    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            if os.name == "posix" and mode & 0o077:
                raise InputError("other users can read the token file", file=name, hint=f"chmod 600 {name}")
            text = opened.read(TOKEN_BYTES).decode("ascii", errors="replace")
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
