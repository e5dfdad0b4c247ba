"""The seeds of a check: derived from a secret of this server, fixed by a commitment before the run, revealed after it.

The key of a check is HMAC-SHA256 over the purpose, the problem and the candidate. So the same kernel gets the same
inputs again and a retry cannot wait for luck; any change of it gets other inputs; and a kernel that holds a table of
answers would have to hold the answers to inputs that depend on the table. Timing has other seeds than the check.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import hmac
import os
import secrets
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from amdkernel_mcp.checking.options import SEEDS
from amdkernel_mcp.errors import InputError, SettingsError

if TYPE_CHECKING:
    from amdkernel_mcp.problems.problem import Problem

Purpose = Literal["check", "check_program", "timing"]
_SECRET_BYTES = 32
_FILE = "secret"


@dataclass(frozen=True, repr=False)
class SeedKey:
    """What the seeds of one check come from. Secret until the check has run."""

    key: bytes
    replayed: bool = False  # given by the caller, who knew the inputs before

    @property
    def hex(self) -> str:
        """The key to reveal."""
        return self.key.hex()

    @property
    def commitment(self) -> str:
        """Fixes the key without revealing it: its SHA-256."""
        return hashlib.sha256(self.key).hexdigest()

    def seeds(self, count: int = SEEDS) -> tuple[int, ...]:
        """The first `count` seeds, of 63 bits each."""
        return tuple(int.from_bytes(self._derive(f"seed {n}")[:8], "big") >> 1 for n in range(count))

    def derive(self, what: str) -> str:
        """Another secret for this check, for `what`."""
        return self._derive(what).hex()

    def _derive(self, what: str) -> bytes:
        return hmac.new(self.key, what.encode(), hashlib.sha256).digest()


def fresh_key() -> SeedKey:
    """A key for one check only, where no server keeps a secret."""
    return SeedKey(secrets.token_bytes(_SECRET_BYTES))


def read_key(text: str) -> SeedKey:
    """A revealed key, to replay its check. Raises InputError."""
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != _SECRET_BYTES:
        raise InputError(
            f"a seed key has {2 * _SECRET_BYTES} hexadecimal digits", hint="`seeds.key` in the JSON of a check has one"
        )
    return SeedKey(key, replayed=True)


def is_committed(commitment: str, key: str) -> bool:
    """Whether a revealed key is the one that was committed to."""
    try:
        return hmac.compare_digest(read_key(key).commitment, commitment.lower())
    except InputError:
        return False


def seed_key(
    secret: bytes, purpose: Purpose, problem: Problem, *, source: str, flags: Sequence[str], arch: str
) -> SeedKey:
    """The key of `purpose` for one candidate on one problem."""
    candidate = hashlib.sha256()
    for part in (source, arch, *flags):
        candidate.update(hashlib.sha256(part.encode()).digest())
    message = f"{purpose}\n{problem.digest}\n{candidate.hexdigest()}"
    return SeedKey(hmac.new(secret, message.encode(), hashlib.sha256).digest())


def server_secret(data_dir: Path) -> bytes:
    """The secret in `data_dir`, made at first use. Raises SettingsError for one that cannot be used.

    A full or read-only disk costs no verdict: this process then has a secret of its own.
    """
    file = data_dir / _FILE
    try:
        if not file.exists():
            _create(file)
        mode, content = stat.S_IMODE(file.stat().st_mode), file.read_bytes()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            return _secret_of_this_process()
        raise SettingsError(
            f"the secret of this server cannot be kept: {error.strerror}",
            file=str(file),
            hint="set AMDKERNEL_DATA_DIR to a folder that can be written",
        ) from None
    if len(content) != _SECRET_BYTES or not any(content):
        raise SettingsError(
            f"this is not a secret of {_SECRET_BYTES} random bytes: {len(content)} bytes",
            file=str(file),
            hint="remove the file: the next check makes a new one, with other seeds",
        )
    if mode & 0o077:
        raise SettingsError(
            f"other users can read this secret (mode {mode:o})", file=str(file), hint=f"chmod 600 {file}"
        )
    return content


@cache
def _secret_of_this_process() -> bytes:
    return secrets.token_bytes(_SECRET_BYTES)


def _create(file: Path) -> None:
    """Write the whole file next to its place, then link it there: of two servers that start, one wins."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".secret-")  # mode 600
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(secrets.token_bytes(_SECRET_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(temporary, file)
    finally:
        os.unlink(temporary)
