"""Problem folders that were made to exhaust the host are refused within little memory, each with one sentence."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from problem_text import REFERENCE, TOML, changed, write_problem

MIB = 1 << 20
ROOM_MIB = 256
"""What reading a folder may add to the address space of a process that has its imports."""

READER = """
import json, resource, sys
from amdkernel_mcp.checking.cases.inputs import make_inputs
from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.problems.problem_file import load_problem
import numpy, ml_dtypes

pages = int(open("/proc/self/statm").read().split()[0])
room = pages * resource.getpagesize() + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (room, room))
for folder in sys.argv[2:]:
    try:
        problem = load_problem(folder)
        print(json.dumps([len(problem.cases), None]))
    except ProblemFileError as error:
        print(json.dumps([error.line, error.message]))
    except BaseException as error:
        print(json.dumps([None, f"UNEXPECTED {type(error).__name__}: {error}"[:500]]))
"""


def with_shape(*dimensions: str) -> str:
    return changed('"rows", "cols"', ", ".join(f'"{dimension}"' for dimension in dimensions))


def with_init(init: str, dtype: str = "i32") -> str:
    return changed('init = "normal"', f'init = "{init}"').replace('dtype = "f32"', f'dtype = "{dtype}"', 1)


CASE = "rows = 4\ncols = 10"
TOML_FILES = {
    "deep keys on many lines": ("\n".join(".".join("abcdefgh" * 40) + f"{n} = 1" for n in range(80)), "levels"),
    "a shape of 10**9 squared": (with_shape("1000000000", "1000000000"), "more than 512"),
    "a shape of 10**18": (with_shape("1000000000000000000", "9"), "more than 512"),
    "eight large dimensions": (with_shape(*["9223372036854775807"] * 8), "more than 512"),
    "a negative dimension": (with_shape("rows - 1000000000"), "empty shape"),
    "a product that leaves 64 bits": (with_shape("*".join(["rows"] * 60)), "64 bits"),
    "a product of products": (with_shape("(rows*1000000)" + "*(rows*1000000)" * 5), "64 bits"),
    "a power": (with_shape("rows ** 60"), "not expected"),
    "a shift": (with_shape("1 << 40"), "not expected"),
    "a name that is a call": (with_shape("__import__(1, 2)"), "no function"),
    "a scalar of 2**70": (changed("rows = 4", f"rows = {2**70}"), "does not fit into i32"),
    "an extra scalar of 2**70": (changed("rows = 4", f"rows = 4\nspare = {2**70}"), "does not fit into i64"),
    "a scalar that is NaN": (changed("rows = 4", "rows = 4\nspare = nan"), "does not fit into i64"),
    "a scalar that is infinite": (changed("rows = 4", "rows = 4\nspare = inf"), "does not fit into i64"),
    "an integer scalar that is NaN": (changed("rows = 4", "rows = nan"), "must be a whole number"),
    "offsets that end at 2**40": (with_init("offsets(1099511627776)"), "not within 0 to"),
    "offsets that end below zero": (with_init("offsets(rows - 9)"), "not within 0 to"),
    "offsets without a row": (with_init("offsets(3)").replace("cols = 10", "cols = 1"), "at least two elements"),
    "a permutation that its dtype cannot hold": (
        with_init("permutation", "i8").replace("cols = 10", "cols = 200"), "does not hold",
    ),
    "a permutation of f16 beyond 2048": (
        with_init("permutation", "f16").replace("cols = 10", "cols = 4000"), "does not hold",
    ),
    "sorted numbers beyond the dtype": (with_init("sorted(0, 300)", "u8"), "do not fit into u8"),
    "spikes of an infinite size": (with_init("spikes(0.1, inf)", "f32"), "finite numbers"),
    "spikes beyond the dtype": (with_init("spikes(0.1, 1e6)", "f16"), "not a positive number that f16 holds"),
    "a share above one": (with_init("nans(1.5)", "f32"), "above 0 and below 1"),
    "infinities in a type without": (with_init("infs", "float8_e4m3fn"), "no infinity"),
    "large beyond the dtype": (with_init("large(1e9)", "f16"), "from 1 to 65504"),
    "denormals of integers": (with_init("denormal"), "which i32 cannot hold"),
    "an init of a million commas": (with_init("integers(" + "," * 60_000 + ")"), "two bounds"),
    "an init of open parentheses": (with_init("integers(" + "(" * 60_000), "not an init"),
    "non_finite integers": (
        changed('"normal"', '"ones"\nnon_finite = true').replace('"f32"', '"i32"', 1), "cannot be `non_finite`",
    ),
    "non_finite that is neither true nor false": (changed('"normal"', '"normal"\nnon_finite = 1'), "true or false"),
    "an alignment below an element": (changed('"normal"', '"normal"\nalign = 2'), "a power of two from 4 to 256"),
    "an alignment of 24 bytes": (changed('"normal"', '"normal"\nalign = 24'), "a power of two from 4"),
    "an alignment beyond that of hipMalloc": (changed('"normal"', '"normal"\nalign = 512'), "a power of two from 4"),
    "a scalar with an alignment": (changed('dtype = "i32"', 'dtype = "i32"\nalign = 4'), "is a scalar and cannot"),
    "30,000 array entries": (TOML + "x = [" + "1," * 30_000 + "]\n", "unknown key"),
    "30,000 tables": (TOML + "[[x]]\n" * 9_000, "unknown key"),
    "250 cases of 500 MiB": (
        TOML.replace("[tolerance]", "[[cases]]\nrows = 8192\ncols = 8000\n" * 250 + "[tolerance]"), "together",
    ),
}  # fmt: skip
BODIES = {
    "a reference over 64 KiB": ("# " + "x" * 70_000 + "\n" + REFERENCE, "larger than 64 KiB"),
    "deep parentheses": (REFERENCE + "x = " + "(" * 20_000, "not Python"),
    "deep brackets that close": (REFERENCE + "x = " + "[" * 15_000 + "]" * 15_000, "not Python"),
    "a long chain of operators": (REFERENCE + "x = " + "1+" * 20_000 + "1", None),
    "a long chain of signs": (REFERENCE + "x = " + "-" * 40_000 + "1", "not Python"),
    "deep blocks": (REFERENCE + "".join(" " * n + "if 1:\n" for n in range(200)) + " " * 200 + "pass\n", "not Python"),
    "a number of 40,000 digits": (REFERENCE + "x = " + "9" * 40_000, "not Python"),
    "a power tower": (REFERENCE + "x = " + "9**" * 15_000 + "9", None),
    "a NUL": (REFERENCE + "\0", "not Python"),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int | None, str | None]]:
    """What one process with little room says of each folder."""
    root = tmp_path_factory.mktemp("hostile")
    texts = {name: (text, REFERENCE) for name, (text, _) in TOML_FILES.items()}
    texts |= {name: (TOML, body) for name, (body, _) in BODIES.items()}
    folders = [str(write_problem(root / str(n), *pair)) for n, pair in enumerate(texts.values())]
    done = subprocess.run(
        [sys.executable, "-c", READER, str(ROOM_MIB * MIB), *folders],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(folders), f"{list(texts)[len(lines)]} ended the process: {done.stderr[-500:]}"
    return dict(zip(texts, lines, strict=True))


@pytest.mark.parametrize("name", [*TOML_FILES, *BODIES])
def test_a_hostile_folder_is_refused_with_its_line_in_little_memory(
    answers: dict[str, tuple[int | None, str | None]], name: str
) -> None:
    line, message = answers[name]
    said = {**TOML_FILES, **BODIES}[name][1]
    if said is None:  # parses, and may be used or refused
        assert message is None or "not Python" in message
        return
    assert message is not None, f"accepted with {line} cases"
    assert said in message, message
    assert isinstance(line, int)
    assert len(message) < 500
