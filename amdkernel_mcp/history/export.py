"""A record as a folder that anybody can verify without the server that made it.

attempt.json     the signed bytes
attempt.sig      their ed25519 signature, 64 bytes
public_key.pem   the server's public key
artefacts/SHA256 the source, the baseline and the files of the problem
README.txt       how to verify them, also with openssl alone; not signed
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from amdkernel_mcp.errors import HistoryError
from amdkernel_mcp.history.artefacts import Artefacts
from amdkernel_mcp.history.attempt import Attempt, files_of, read_record, sha256
from amdkernel_mcp.history.history import StoredRecord
from amdkernel_mcp.history.signing import fingerprint, is_signed

_LARGEST_RECORD = 32 << 20
_LARGEST_ARTEFACT = 64 << 20
_README = """Attempt {id}: {verb} of {file_name}, {verdict}

attempt.json is what the server signed; each file in artefacts/ is named by its sha256.

  amdkernel verify .         verifies both
  amdkernel replay .         runs the attempt again here

Without amdkernel, openssl verifies the signature:

  openssl pkeyutl -verify -pubin -inkey public_key.pem -rawin -in attempt.json -sigfile attempt.sig

this says OK for each file that is what its name says and that the record names (source, baseline, problem.files):

  (cd artefacts; for f in *; do grep -q "\\"$f\\"" ../attempt.json && echo "$f  $f"; done | sha256sum --check)

and the first 16 digits of this line are the key's fingerprint:

  openssl pkey -pubin -in public_key.pem -outform DER | tail -c 32 | sha256sum

It is {fingerprint}: ask the owner of the server whether it is theirs. This text is not signed.
"""


@dataclass(frozen=True)
class Exported:
    """A verified export: the attempt, its files by sha256, and the fingerprint of the key."""

    attempt: Attempt
    artefacts: dict[str, bytes]
    fingerprint: str
    warnings: tuple[str, ...] = ()


def write_export(stored: StoredRecord, artefacts: Artefacts, folder: Path) -> list[Path]:
    """Write the folder. Returns its files. Raises HistoryError: it exists already, or an artefact is missing."""
    contents = {f"artefacts/{name}": artefacts.read(name) for name in files_of(stored.attempt)}
    contents |= {"attempt.json": stored.record, "attempt.sig": stored.signature, "public_key.pem": stored.public_key}
    contents["README.txt"] = _readme(stored.attempt, fingerprint(stored.public_key)).encode()
    try:
        (folder / "artefacts").mkdir(parents=True)
        for name, content in contents.items():
            (folder / name).write_bytes(content)
    except FileExistsError:
        raise HistoryError(f"{folder} has an export already", hint="name another folder with --out") from None
    except OSError as error:
        raise HistoryError(f"{folder} cannot be written: {error.strerror}") from None
    return sorted(folder / name for name in contents)


def verify_export(folder: Path) -> Exported:
    """The content of an export whose signature and hashes hold. Raises HistoryError with what does not hold."""
    record = _read(folder / "attempt.json", _LARGEST_RECORD)
    public_key = _read(folder / "public_key.pem", 1 << 12)
    if not is_signed(record, _read(folder / "attempt.sig", 1 << 12), public_key):
        raise HistoryError("the signature does not fit: attempt.json was changed, or another key signed it")
    attempt = read_record(record)
    artefacts = {}
    for name in files_of(attempt):
        artefacts[name] = _read(folder / "artefacts" / name, _LARGEST_ARTEFACT)
        if sha256(artefacts[name]) != name:
            raise HistoryError(f"artefacts/{name[:12]}… was changed: its sha256 is another")
    key = fingerprint(public_key)
    return Exported(attempt, artefacts, key, _unsigned(folder, attempt, key))


def _unsigned(folder: Path, attempt: Attempt, key: str) -> tuple[str, ...]:
    """Warnings about other files. Raises HistoryError for a file that poses as a part of the record."""
    ours = {"attempt.json", "attempt.sig", "public_key.pem", "artefacts", "README.txt"}
    try:
        found = {entry.name for entry in folder.iterdir()} - ours
        found |= {f"artefacts/{entry.name}" for entry in (folder / "artefacts").iterdir()}
    except OSError as error:
        raise HistoryError(f"{folder} cannot be read: {error.strerror}") from None
    added = sorted(found - {f"artefacts/{name}" for name in files_of(attempt)})
    if added:
        raise HistoryError(
            f"the record does not name {', '.join(name[:60] for name in added[:3])}",
            hint="the folder was changed after the export: remove what was added",
        )
    readme = _read(folder / "README.txt", 1 << 16) if (folder / "README.txt").exists() else None
    if readme == _readme(attempt, key).encode():
        return ()
    return ("README.txt is not signed, and it is not the one that this version writes: do not rely on it",)


def _readme(attempt: Attempt, key: str) -> str:
    return _README.format(
        id=attempt.id,
        verb=attempt.verb,
        file_name=attempt.file_name,
        verdict=attempt.verdict,
        fingerprint=key,
    )


def _read(file: Path, limit: int) -> bytes:
    if file.exists() and not file.is_file():
        raise HistoryError(f"{file.name} of the export is not a file", file=str(file))  # a pipe would be read for ever
    try:
        with file.open("rb") as stream:
            content = stream.read(limit + 1)
    except OSError as error:
        raise HistoryError(f"{file.name} of the export cannot be read: {error.strerror}", file=str(file)) from None
    if len(content) > limit:
        raise HistoryError(f"{file.name} of the export is larger than {limit >> 20 or 1} MiB", file=str(file))
    return content
