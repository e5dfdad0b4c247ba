"""What a reference can write into its sandbox instead of arrays and an answer of ours."""

import io
import json
import resource
import struct

import numpy as np
import pytest

from amdkernel_mcp.checking.expected.reference_answer import read_answer, read_npy

GOOD = {"error": None, "call": 0, "seconds": [0.5]}


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def forged(header, data=b"", *, length=None):
    text = header.encode("latin-1") + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) if length is None else length) + text + data


def header(descr="'<f8'", shape="(2,)"):
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4),
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.float64(3.0),
        np.arange(5, dtype=">u4"),
        np.zeros((0, 3), np.int8),
        np.arange(2**12, dtype=np.uint64),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_what_numpy_saves_is_read(array):
    assert np.array_equal(read_npy(npy(array)), array)
    assert read_npy(npy(array)).shape == array.shape


FORGED = {
    "nothing": b"",
    "no array": b"PK\x03\x04" + b"\0" * 50,
    "objects": npy(np.array([{}, None], object), allow_pickle=True),
    "complex numbers": npy(np.zeros(3, complex)),
    "dates": npy(np.zeros(3, "M8[s]")),
    "texts": npy(np.zeros(3, "U5")),
    "records": npy(np.zeros(3, "i4,f8")),
    "a truncated array": npy(np.zeros(100))[:-1],
    "bytes after the array": npy(np.zeros(100)) + b"x",
    "a huge shape": forged(header(shape="(1000000, 1000000)"), b"\0" * 16),
    "a shape that overflows": forged(header(shape="(4294967296, 4294967296, 4)"), b""),
    "a shape of long numbers": forged(header(shape=f"({'9' * 900},)"), b""),
    "a negative shape": forged(header(shape="(-1,)"), b"\0" * 8),
    "a hundred dimensions": forged(header(shape=f"({'1, ' * 100})"), b"\0" * 8),
    "an item of 2 GiB": forged(header(descr="'|V2147483647'", shape="(1,)"), b"\0" * 8),
    "a type of one byte": forged(header(descr="'<f1'"), b"\0" * 2),
    "a header that is code": forged("__import__('os').system('true')"),
    "a header that nests": forged("(" * 900),
    "a header that is longer than the file": forged(header(), length=60_000),
    "a header that is not text": forged("\xff" * 50),
}


@pytest.mark.parametrize("content", FORGED.values(), ids=FORGED)
def test_a_forged_array_is_refused(content):
    with pytest.raises(ValueError, match=r"^its? "):
        read_npy(content)


def test_a_forged_array_takes_no_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(10):
        with pytest.raises(ValueError, match="size"):
            read_npy(forged(header(shape="(50000, 50000)"), b"\0" * 64))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 << 10


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"null",
        b"[]",
        b"NaN",
        b"[" * 100_000,
        b'{"error":' * 50_000,
        b'{"error": null, "call": NaN, "seconds": []}',
        b'{"error": null, "call": 0, "seconds": [NaN]}',
        b'{"error": null, "call": 0, "seconds": [Infinity]}',
        b'{"error": NaN, "call": 0, "seconds": []}',
        b'{"error": null, "call": ' + b"9" * 5000 + b', "seconds": []}',
        json.dumps(GOOD | {"error": "x"}).encode(),
        json.dumps(GOOD | {"error": {"kind": "exception", "message": "x", "line": -5}}).encode(),
        json.dumps(GOOD | {"error": {"kind": "exception", "message": "x", "line": True}}).encode(),
        json.dumps(GOOD | {"error": {"kind": "exception", "message": "x" * 100_000, "line": 1}}).encode(),
        json.dumps(GOOD | {"more": 1}).encode(),
        json.dumps(GOOD | {"seconds": [0.0] * 400_000}).encode(),
    ],
    ids=lambda content: repr(content[:40]),
)
def test_a_forged_answer_is_refused(content):
    with pytest.raises(ValueError, match=r"\w"):
        read_answer(content)


def test_our_own_answer_is_read():
    assert read_answer(json.dumps(GOOD).encode()).call == 0
