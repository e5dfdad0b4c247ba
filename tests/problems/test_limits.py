"""A problem.toml is a stranger's file: what is too much in it is refused before it costs anything."""

import resource

import pytest
from problem_text import TOML, changed, write_problem

from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.problems.problem_file import load_problem

EXCESSES = {
    "a file over 64 KiB": ("# " + "x" * 70_000 + "\n" + TOML, 1, "64 KiB"),
    "a deep dotted key": (".".join("a" * 30_000) + " = 1\n" + TOML, 1, "levels"),
    "a deep dotted key of quoted parts": (" . ".join(['"a"'] * 9_000) + " = 1\n" + TOML, 1, "levels"),
    "a deep header": ("[" + ".".join("a" * 9_000) + "]\n" + TOML, 1, "levels"),
    "deep inline arrays": (TOML + "\n\nx = " + "[" * 20_000 + "\n", 37, "levels"),
    "deep inline tables": (TOML + "\nx = " + "{a=" * 9_000 + "\n", 36, "levels"),
    "a number of 5,000 digits": (changed("rows = 4", "rows = " + "9" * 5_000), 25, "digits"),
    "a negative number of 5,000 digits": (changed("rows = 4", "rows = -" + "9" * 5_000), 25, "digits"),
    "a hexadecimal number of 5,000 digits": (changed("rows = 4", "rows = 0x" + "f" * 5_000), 25, "digits"),
    "a number of 40 digits": (changed("rows = 4", "rows = " + "9" * 40), 25, "does not fit"),
    "a dimension of 5,000 digits": (changed('"rows", "cols"', "9" * 5_000), 6, "digits"),
    "a dimension of 30 digits": (changed('"rows", "cols"', "9" * 30), 6, "64 bits"),
    "20,000 dimensions": (changed('"rows", "cols"', ",".join(["1"] * 20_000)), 6, "dimensions"),
    "a long expression": (changed('"rows", "cols"', f'"{"1+" * 5_000}1"'), 6, "500 characters"),
    "a deeply nested expression": (changed('"rows", "cols"', f'"{"(" * 200}1{")" * 200}"'), 6, "nested"),
    "300 cases": (TOML + "\n[[cases]]\nrows = 4\ncols = 10\n" * 300, 24, "256"),
    "100 arguments": (TOML + '\n[[arguments]]\nname = "z"\ndtype = "i32"\n' * 100, 3, "64"),
    "100 values in a case": (changed("rows = 4", "rows = 4\n" + "\n".join(f"v{n} = 1" for n in range(100))), 24, "64"),
    "all arrays of a case": (changed("rows = 4\ncols = 10", "rows = 8192\ncols = 8193"), 24, "its arrays take 512 MiB"),
    "an array of small elements": (
        changed('dtype = "f32"', 'dtype = "i8"')
        .replace('init = "normal"', 'init = "integers(0, 9)"')
        .replace("rows = 4\ncols = 10", "rows = 16384\ncols = 16384"),
        24,
        "takes 1024 MiB, more than 512 MiB (an element counts as at least 4 bytes",
    ),
    "all arrays together": (
        TOML.replace("[tolerance]", "[[cases]]\nrows = 8192\ncols = 8000\n\n" * 3 + "[tolerance]"),
        41,
        "cases 1 to 5 together take more than 1024 MiB",
    ),
    "a name of 30,000 characters": (changed('name = "x"', f'name = "{"x" * 30_000}"'), 4, "100 characters"),
    "an unknown key of 30,000 characters": ("x" * 30_000 + " = 1\n" + TOML, 1, "unknown key"),
    "an init that is not finite": (changed('init = "normal"', 'init = "uniform(0, inf)"'), 8, "finite"),
    "a string that never ends": (TOML + '\nx = """' + '\\"' * 20_000, None, "not TOML"),
}


@pytest.mark.parametrize(("text", "line", "said"), EXCESSES.values(), ids=EXCESSES)
def test_an_excess_is_refused_in_one_short_sentence_with_its_line(tmp_path, text, line, said):
    folder = write_problem(tmp_path, text)
    with pytest.raises(ProblemFileError) as caught:
        load_problem(folder)
    error = caught.value
    assert said in error.message, error.message[:300]
    assert error.file == str(folder / "problem.toml")
    assert line is None or error.line == line, error.message[:300]
    assert len(error.message) < 500


def test_refusing_a_file_of_deep_keys_takes_no_memory(tmp_path):
    folder = write_problem(tmp_path, "\n".join(".".join("abcdefgh" * 400) + f"{n} = 1" for n in range(60)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ProblemFileError):
        load_problem(folder)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 50 << 10, f"{grown_kib >> 10} MiB more at the peak"


def test_dots_and_digits_in_strings_and_comments_do_not_count(tmp_path):
    text = TOML.replace(
        'title = "Row softmax"',
        f'''title = "{"a." * 50}{"9" * 200}{"[" * 50}" # {"[" * 99}{"9" * 99}
description = """
{"a." * 99} {"9" * 200} " {"{" * 99} \\"""
"""''',
    )
    assert load_problem(write_problem(tmp_path, text)).cases


def test_a_path_that_is_no_file_is_refused(tmp_path):
    folder = write_problem(tmp_path)
    (folder / "problem.toml").unlink()
    (folder / "problem.toml").symlink_to("/dev/zero")
    with pytest.raises(ProblemFileError):
        load_problem(folder)
