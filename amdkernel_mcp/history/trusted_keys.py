"""Whose key signed a record: this server's own, or one that its owner has noted.

`data_dir/trusted_keys` has a file for each such key: named after who has it, with the fingerprint as its first word, or
the public key as PEM. Nothing in an export can add to it, so a record signed again with a fresh key is reported.
"""

from __future__ import annotations

from pathlib import Path

from amdkernel_mcp.errors import HistoryError
from amdkernel_mcp.history.signing import SigningKey, fingerprint

FOLDER = "trusted_keys"
OWN = "this server"
_LARGEST = 4096


def owner_of(key: str, data_dir: Path) -> str | None:
    """Who has the key of this fingerprint: the name of its file, or "this server"; None where it is unknown here.

    Raises HistoryError for a damaged key of this server.
    """
    own = data_dir / "signing_key.pem"
    if own.is_file() and fingerprint(SigningKey(own).public_pem) == key:
        return OWN
    folder = data_dir / FOLDER
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return next((file.stem for file in files if file.is_file() and _noted(file) == key), None)


def _noted(file: Path) -> str | None:
    """The fingerprint that a file notes."""
    with file.open("rb") as stream:
        content = stream.read(_LARGEST)
    if content.lstrip().startswith(b"-----BEGIN PUBLIC KEY-----"):
        try:
            return fingerprint(content)
        except HistoryError:
            return None
    words = content.decode("utf-8", "replace").split()
    return words[0].lower() if words else None
