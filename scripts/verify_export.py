#!/usr/bin/env python3
"""Verify an export of an attempt with Python alone: no amdkernel, no openssl, no package, no network.

    python3 verify_export.py FOLDER [FINGERPRINT]

Take this file from a release, not from whoever sent the folder. Ed25519 as in RFC 8032, section 5.1.7. Exit code 0: the
signature and all files hold, and the key has the FINGERPRINT, if one is given.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import sys
from typing import Any

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)
Point = tuple[int, int, int, int]  # x, y, z and t of RFC 8032, section 5.1.4
PREFIX = bytes.fromhex("302a300506032b6570032100")  # of a public ed25519 key in DER: RFC 8410
RECORD_BYTES, FILE_BYTES = 32 << 20, 64 << 20


def add(a: Point, b: Point) -> Point:
    """The sum of two points in extended coordinates."""
    m, n = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    s, t = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = n - m, t - s, t + s, n + m
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(number: int, point: Point) -> Point:
    """`number` times a point."""
    result: Point = (0, 1, 1, 0)
    while number:
        if number & 1:
            result = add(result, point)
        point = add(point, point)
        number >>= 1
    return result


def point(encoded: bytes) -> Point | None:
    """The point that 32 bytes encode; None where they encode none."""
    y = int.from_bytes(encoded, "little")
    odd, y = y >> 255, y & ((1 << 255) - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if (x * x - square) % P or (x == 0 and odd):
        return None
    if x & 1 != odd:
        x = P - x
    return x, y, 1, x * y % P


def same(a: Point, b: Point) -> bool:
    """Whether two points are the same."""
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 == (a[1] * b[2] - b[1] * a[2]) % P


BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little")) or (0, 1, 1, 0)


def is_signed(message: bytes, signature: bytes, key: bytes) -> bool:
    """Whether the holder of the key signed the message."""
    if len(signature) != 64:
        return False
    public, r, s = point(key), point(signature[:32]), int.from_bytes(signature[32:], "little")
    if public is None or r is None or s >= L:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    return same(multiply(s, BASE), add(r, multiply(challenge, public)))


def read(folder: str, name: str, limit: int) -> bytes:
    """The content of a file of the export."""
    if not os.path.isfile(os.path.join(folder, name)):
        raise ValueError(name + " is not a file, or it is not there")
    with open(os.path.join(folder, name), "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(name + " is too large")
    return content


def raw_key(pem: bytes) -> bytes:
    """The 32 bytes of an ed25519 key in PEM."""
    lines = [line.strip() for line in pem.decode("ascii").strip().splitlines()]
    if lines[0] != "-----BEGIN PUBLIC KEY-----" or lines[-1] != "-----END PUBLIC KEY-----":
        raise ValueError("public_key.pem is not a public key")
    der = base64.b64decode("".join(lines[1:-1]), validate=True)
    if len(der) != 44 or not der.startswith(PREFIX):
        raise ValueError("public_key.pem is not an ed25519 key")
    return der[len(PREFIX) :]


def named_files(record: dict[str, Any]) -> set[str]:
    """The sha256 of every file that the record names."""
    problem = record["problem"] or {"files": {}}
    return {name for name in [record["source"], record["baseline"], *problem["files"].values()] if name}


def verify(folder: str, wanted: str) -> list[str]:
    """What holds, as lines. Raises ValueError or OSError with what does not."""
    text = read(folder, "attempt.json", RECORD_BYTES)
    key = raw_key(read(folder, "public_key.pem", 4096))
    if not is_signed(text, read(folder, "attempt.sig", 4096), key):
        raise ValueError("the signature does not fit attempt.json")
    record = json.loads(text.decode("utf-8"))
    names = named_files(record)
    for name in sorted(names):
        if len(name) != 64 or not set(name) <= set("0123456789abcdef"):
            raise ValueError("the record names a file by a word that is not a sha256")
        if hashlib.sha256(read(folder, os.path.join("artefacts", name), FILE_BYTES)).hexdigest() != name:
            raise ValueError("artefacts/" + name + " was changed")
    added = sorted(set(os.listdir(os.path.join(folder, "artefacts"))) - names)
    if added:
        raise ValueError("the record does not name artefacts/" + added[0])
    fingerprint = hashlib.sha256(key).hexdigest()[:16]
    if wanted and wanted.lower() != fingerprint:
        raise ValueError("the key " + fingerprint + " signed this, not " + wanted)
    said = [record[name] for name in ("verb", "id", "file_name", "verdict", "by", "created")]
    return ["{} {} of {}: {}, by {}, {}".format(*said), "signed by " + fingerprint]


def main() -> None:
    """Verify the folder that the command line names."""
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("usage: verify_export.py FOLDER [FINGERPRINT]")
    try:
        lines = verify(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else "")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OSError, RecursionError) as error:
        sys.exit(f"does not hold: {error}")
    print("\n".join(line.encode("unicode_escape").decode() for line in lines))


if __name__ == "__main__":
    main()
