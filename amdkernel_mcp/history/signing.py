"""Signatures of records: ed25519 (RFC 8032), with a key that this server makes on first use and keeps to itself."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from amdkernel_mcp.errors import HistoryError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey


class SigningKey:
    """The server's private key. Raises OSError when the file cannot be read or written, HistoryError: it is damaged."""

    def __init__(self, file: Path) -> None:
        self._key = _load(file) or _make(file)

    def sign(self, content: bytes) -> bytes:
        """The signature of `content`, 64 bytes."""
        return self._key.sign(content)

    @property
    def public_pem(self) -> bytes:
        """The public key as PEM, which `openssl pkey -pubin` reads."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        return self._key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def fingerprint(public_pem: bytes) -> str:
    """What people compare to know whose key it is: the first 16 hex digits of the sha256 of its raw bytes."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    raw = _public(public_pem).public_bytes(Encoding.Raw, PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()[:16]


def is_signed(content: bytes, signature: bytes, public_pem: bytes) -> bool:
    """Whether the holder of the key signed exactly these bytes. Raises HistoryError for a key that is not ed25519."""
    from cryptography.exceptions import InvalidSignature

    try:
        _public(public_pem).verify(signature, content)
    except InvalidSignature:
        return False
    return True


def _public(pem: bytes) -> Ed25519PublicKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm):
        raise HistoryError("this is not a public key in PEM") from None
    if not isinstance(key, Ed25519PublicKey):
        raise HistoryError("the public key is not an ed25519 key")
    return key


def _load(file: Path) -> Ed25519PrivateKey | None:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        pem = file.read_bytes()
    except FileNotFoundError:
        return None
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise HistoryError(
            "the signing key is damaged", file=str(file), hint="restore it from a backup, or move it away for a new one"
        )
    return key


def _make(file: Path) -> Ed25519PrivateKey:
    """A new key, readable by its owner alone; where another process was quicker, that one's."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".key-")  # mode 0600
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(pem)
            stream.flush()
            os.fsync(handle)
        with contextlib.suppress(FileExistsError):
            os.link(temporary, file)
    finally:
        os.unlink(temporary)
    return _load(file) or key
