"""What a module's process answers about itself is untrusted."""

import json

import pytest

from amdkernel_mcp.importing.inspection import Inspection, Refusal, read_inspection

ANSWER = {
    "error": None,
    "sizes": [{"name": "n", "value": 64, "low": 1, "high": 256, "multiple": 1, "positions": [[3, 4]]}],
    "changed": [],
    "fixed": [],
    "inputs": [{"name": "x", "dtype": "f32", "shape": ["n"], "init": "uniform(0, 1)"}],
    "weights": [],
    "outputs": [{"name": "out", "dtype": "f32", "shape": ["n"], "init": None}],
    "ranges": True,
    "held_out": {"n": 45},
    "precision": "float64",
    "rtol": None,
    "notes": [],
    "graph": None,
}


def test_an_answer_of_ours_is_read():
    assert isinstance(read_inspection(json.dumps(ANSWER).encode()), Inspection)
    refused = read_inspection(b'{"error": {"code": "dtype", "message": "complex"}}')
    assert isinstance(refused, Refusal)


@pytest.mark.parametrize(
    "changed",
    [
        {"inputs": [{"name": 'x"\n[[cases]]', "dtype": "f32", "shape": ["n"]}]},
        {"inputs": [{"name": "x", "dtype": "f32", "shape": ['n"]\n']}]},
        {"inputs": [{"name": "x", "dtype": "f32", "shape": ["n"], "init": 'normal"\nrole = "out'}]},
        {"weights": [{"name": "w", "dtype": "f32", "shape": ["n"], "path": "w'): import os"}]},
        {"outputs": []},
        {"held_out": {"n; }": 1}},
        {"precision": "float16"},
        {"graph": [{"op": "add\n", "name": "t0", "dtype": "f32", "shape": [], "args": [], "keywords": {}}]},
        {
            "graph": [
                {"op": "add", "name": "t0", "dtype": "f32", "shape": [], "args": [{"number": "1; }"}], "keywords": {}}
            ]
        },
        {"sizes": [{"name": "n", "value": 1 << 90, "low": 1, "high": 2, "multiple": 1, "positions": []}]},
        {"surprise": 1},
    ],
)
def test_an_answer_that_could_write_into_our_files_is_refused(changed):
    with pytest.raises(ValueError, match="validation error"):
        read_inspection(json.dumps(ANSWER | changed).encode())


def test_a_long_answer_is_not_parsed():
    with pytest.raises(ValueError, match="too long"):
        read_inspection(b" " * (5 << 20))
