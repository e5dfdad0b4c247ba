"""A problem folder on disk → `Problem`. Every mistake is a ProblemFileError with file and line."""

from __future__ import annotations

import ast
import difflib
import keyword
import re
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from amdkernel_mcp.bundled import folder as bundled_folder
from amdkernel_mcp.errors import ProblemFileError
from amdkernel_mcp.expressions import Expression, ExpressionError, parse_expression
from amdkernel_mcp.problems import toml_limits
from amdkernel_mcp.problems.dtypes import DTYPES, DType, suggest_dtype
from amdkernel_mcp.problems.inits import InitError, default_init, parse_init
from amdkernel_mcp.problems.problem import (
    ALIGNMENT,
    Argument,
    Case,
    Init,
    Number,
    OutputTolerance,
    Problem,
    Range,
    Role,
)
from amdkernel_mcp.problems.ranges import RangeError, parse_ranges
from amdkernel_mcp.problems.size_limits import DEFAULT_LIMITS, SizeLimits, first_case_beyond, why_case_refused
from amdkernel_mcp.problems.toml_lines import TomlLines

_LARGEST_REFERENCE = 64 << 10  # bytes
_MOST = {"arguments": 64, "cases": 256}
_MOST_VALUES = 64  # in a case
_MOST_DIMENSIONS = 8
_MOST_STEPS = 1024  # in a tolerance
_LONGEST_NAME = 100
_LONGEST_MESSAGE = 400
_ROLES: dict[str, Role] = {"in": "in", "out": "out", "inout": "inout"}


def bundled_problems() -> list[str]:
    """The names of the bundled problems."""
    return sorted(path.parent.name for path in bundled_folder("examples").glob("*/problem.toml"))


def load_problem(name_or_path: str | Path, limits: SizeLimits = DEFAULT_LIMITS) -> Problem:
    """The problem in a folder, or the bundled one of that name. Raises ProblemFileError."""
    path = Path(name_or_path).expanduser()
    if path.name == "problem.toml":
        path = path.parent
    if not path.is_dir() and len(path.parts) == 1 and (bundled_folder("examples") / path / "problem.toml").is_file():
        path = bundled_folder("examples") / path
    file = path / "problem.toml"
    if not file.is_file():
        lacks = "has no problem.toml" if path.is_dir() else "is neither a problem folder nor the name of a problem"
        near = difflib.get_close_matches(str(name_or_path), bundled_problems(), n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise ProblemFileError(
            f"{name_or_path} {lacks}{meant}",
            file=str(name_or_path),
            hint="bundled are " + ", ".join(bundled_problems()),
        )
    reference = path / "reference.py"
    if not reference.is_file():
        raise ProblemFileError(
            f"{file} has no reference.py next to it",
            file=str(reference),
            hint="`amdkernel docs read guide:problem` shows one",
        )
    declared = _ProblemReader(file, _read(file, toml_limits.MAX_BYTES), limits)
    text = _read(reference, _LARGEST_REFERENCE)
    tree = _parse(reference, text)
    return replace(
        declared.problem(text, str(reference), _find_functions(reference, tree)), needs_torch=_imports_torch(tree)
    )


def _read(path: Path, limit: int) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise ProblemFileError(f"{path.name} cannot be read: {error.strerror}", file=str(path)) from None
    if len(data) > limit:
        raise ProblemFileError(f"{path.name} is larger than {limit >> 10} KiB", file=str(path), line=1)
    try:
        return data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ProblemFileError(f"{path.name} is not UTF-8", file=str(path), line=line) from None


def _parse(path: Path, text: str) -> ast.Module:
    """The syntax tree of reference.py. The text is only parsed here; it runs in a sandbox."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the user's strings
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = (error.lineno if isinstance(error, SyntaxError) else None) or 1
        reason = error.msg if isinstance(error, SyntaxError) else str(error) or "too deeply nested"
        raise ProblemFileError(f"reference.py is not Python: {reason}", file=str(path), line=line) from None


def _imports_torch(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        if any(name.split(".")[0] == "torch" for name in names):
            return True
    return False


def _find_functions(path: Path, tree: ast.Module) -> dict[str, int]:
    """The lines of `reference` and `generate`."""
    lines: dict[str, int] = {}
    for node in tree.body:
        names = [node.name] if isinstance(node, ast.FunctionDef) else []
        if isinstance(node, ast.ImportFrom):
            names = [alias.asname or alias.name for alias in node.names]
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        for name in names:
            lines.setdefault(name, node.lineno)
    if "reference" not in lines:
        raise ProblemFileError(
            "reference.py defines no function `reference`",
            file=str(path),
            line=1,
            hint="def reference(x, *, rows, cols): return {'y': ...}",
        )
    return lines


class _ProblemReader:
    """Reads one problem.toml; knows its lines."""

    def __init__(self, file: Path, text: str, limits: SizeLimits) -> None:
        self._file = file
        self._limits = limits
        try:
            toml_limits.check_text(text)
            self._data = tomllib.loads(text)
        except toml_limits.TooMuch as error:
            raise ProblemFileError(error.message, file=str(file), line=error.line) from None
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"at line (\d+)", str(error))
            line = int(found[1]) if found else len(text.splitlines())
            raise ProblemFileError(f"problem.toml is not TOML: {error}", file=str(file), line=line) from None
        self._text_of_file = text
        self._lines = TomlLines(text)

    def problem(self, reference: str, reference_file: str, functions: Mapping[str, int]) -> Problem:
        data = self._data
        self._known_keys(data, (), ("title", "description", "arguments", "cases", "ranges", "tolerance"))
        arguments = [
            self._argument(table, ("arguments", index)) for index, table in enumerate(self._tables("arguments"))
        ]
        self._unique(arguments)
        if not any(argument.role in ("out", "inout") for argument in arguments):
            self._fail("no argument has the role out or inout: there is nothing to compare", "arguments", 0)
        cases = [self._case(table, ("cases", index), arguments) for index, table in enumerate(self._tables("cases"))]
        profiled = [case for case, table in zip(cases, self._tables("cases"), strict=True) if table.get("profile")]
        cases = [case for case in cases if case not in profiled]
        if not cases:
            self._fail("all [[cases]] are for profiles: a check would have none", "cases", 0)
        self._check_total(cases, arguments)
        self._check_total(profiled, arguments)
        name = self._file.resolve().parent.name
        return Problem(
            name=name,
            title=self._text(data, "title", name),
            description=self._text(data, "description", ""),
            folder=str(self._file.parent),
            arguments=tuple(arguments),
            cases=tuple(cases),
            profile_cases=tuple(profiled),
            rtol=self._rtol(),
            tolerances=self._tolerances(arguments),
            ranges=self._ranges(cases, arguments),
            declaration=self._text_of_file,
            reference=reference,
            reference_file=reference_file,
            reference_line=functions["reference"],
            generates="generate" in functions,
        )

    def _fail(self, message: str, *path: str | int, hint: str | None = None) -> NoReturn:
        shown = message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"
        raise ProblemFileError(shown, file=str(self._file), line=self._lines.line_of(*path), hint=hint)

    def _tables(self, key: str) -> list[dict[str, Any]]:
        tables = self._data.get(key, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            self._fail(f"`{key}` must be tables: [[{key}]]", key)
        if not tables:
            self._fail(f"the problem has no [[{key}]]", key)
        if len(tables) > _MOST[key]:
            self._fail(f"the problem has {len(tables)} [[{key}]], more than {_MOST[key]}", key, 0)
        return tables

    def _known_keys(self, table: dict[str, Any], path: tuple[str | int, ...], known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                self._fail(
                    f"unknown key `{key[:_LONGEST_NAME]}`" + (f"; did you mean `{near[0]}`?" if near else ""),
                    *path,
                    key,
                    hint="known here are " + ", ".join(known),
                )

    def _text(self, table: dict[str, Any], key: str, default: str) -> str:
        value = table.get(key, default)
        if not isinstance(value, str):
            self._fail(f"`{key}` must be a string", key)
        return value

    def _ranges(self, cases: Sequence[Case], arguments: Sequence[Argument]) -> dict[str, Range]:
        table = self._data.get("ranges", {})
        if not isinstance(table, dict):
            self._fail("`ranges` must be a table: [ranges]", "ranges")
        try:
            return parse_ranges(table, cases, arguments)
        except RangeError as error:
            self._fail(str(error), "ranges", error.key, hint="rows = [1, 4096]")

    # ---- [tolerance] ----

    def _rtol(self) -> float | None:
        return self._amount(self._tolerance_table(), ("tolerance",), "rtol", below=1)

    def _tolerance_table(self) -> dict[str, Any]:
        table = self._data.get("tolerance", {})
        if not isinstance(table, dict):
            self._fail("`tolerance` must be a table: [tolerance]", "tolerance")
        return table

    def _tolerances(self, arguments: Sequence[Argument]) -> dict[str, OutputTolerance]:
        outputs = {argument.name: argument for argument in arguments if argument.role in ("out", "inout")}
        table = self._tolerance_table()
        self._known_keys(table, ("tolerance",), ("rtol", *outputs))
        return {
            name: self._tolerance(entry, outputs[name])
            for name, entry in table.items()
            if name in outputs and (name != "rtol" or isinstance(entry, dict))
        }

    def _tolerance(self, table: Any, output: Argument) -> OutputTolerance:
        path = ("tolerance", output.name)
        if not isinstance(table, dict):
            self._fail(f"`{output.name}` must be a table: [tolerance.{output.name}]", *path)
        self._known_keys(table, path, ("rtol", "atol", "steps", "matched_ratio", "max_error", "max_bias"))
        ratio = self._amount(table, path, "matched_ratio", least=0.5, most=1)
        cap = self._amount(table, path, "max_error")
        if (ratio is None) != (cap is None):
            given, lacks = ("matched_ratio", "max_error") if cap is None else ("max_error", "matched_ratio")
            self._fail(f"`{given}` needs `{lacks}`", *path, given, hint="outliers are forgiven only up to a limit")
        if ratio is not None and output.dtype.bytes > 2:
            self._fail(f"`matched_ratio` is for types of 1 or 2 bytes, not {output.dtype.name}", *path, "matched_ratio")
        return OutputTolerance(
            rtol=self._amount(table, path, "rtol", below=1),
            atol=self._amount(table, path, "atol"),
            steps=self._steps(table, path),
            matched_ratio=ratio,
            max_error=cap,
            max_bias=self._amount(table, path, "max_bias"),
        )

    def _steps(self, table: dict[str, Any], path: tuple[str, ...]) -> int | None:
        steps = table.get("steps")
        if steps is None:
            return None
        if not isinstance(steps, int) or isinstance(steps, bool) or not 0 <= steps <= _MOST_STEPS:
            self._fail(f"`steps` must be a whole number from 0 to {_MOST_STEPS}, not {_shown(steps)}", *path, "steps")
        return steps

    def _amount(
        self,
        table: dict[str, Any],
        path: tuple[str, ...],
        key: str,
        *,
        least: float = 0.0,
        most: float | None = None,
        below: float | None = None,
    ) -> float | None:
        """The finite number of `key` in its range; None where it is not given."""
        value = table.get(key)
        if value is None or (key == "rtol" and path == ("tolerance",) and self._is_output_table(value)):
            return None
        limit = below if below is not None else most
        upper = "" if limit is None else f" to below {limit:g}" if below is not None else f" to {limit:g}"
        good = isinstance(value, Number) and not isinstance(value, bool) and least <= value < float("inf")
        if not good or (below is not None and value >= below) or (most is not None and value > most):
            self._fail(f"`{key}` must be a number from {least:g}{upper or ' up'}, not {_shown(value)}", *path, key)
        try:
            return float(value)
        except OverflowError:
            self._fail(f"`{key}` is too large", *path, key)

    def _is_output_table(self, value: Any) -> bool:
        """Whether `[tolerance.rtol]` belongs to an output called `rtol`."""
        tables = self._data.get("arguments")
        names = [table.get("name") for table in tables if isinstance(table, dict)] if isinstance(tables, list) else []
        return isinstance(value, dict) and "rtol" in names

    # ---- [[arguments]] ----

    def _argument(self, table: dict[str, Any], path: tuple[str, int]) -> Argument:
        self._known_keys(table, path, ("name", "dtype", "shape", "role", "init", "non_finite", "align"))
        name = self._name(table, path)
        dtype = self._dtype(name, table, path)
        shape = self._shape(name, table, path)
        role = self._role(name, table, path, is_array=shape is not None)
        init = self._init(name, table, path, role, dtype)
        non_finite = self._non_finite(name, table, path, role, dtype)
        align = self._align(name, table, path, role, dtype)
        return Argument(name, dtype, shape, role, init, self._lines.line_of(*path), non_finite, align)

    def _align(self, name: str, table: dict[str, Any], path: tuple[str, int], role: Role, dtype: DType) -> int:
        given = table.get("align", ALIGNMENT)
        if "align" in table and role == "scalar":
            self._fail(f"argument `{name}` is a scalar and cannot have `align`", *path, "align")
        if type(given) is not int or given & (given - 1) or not dtype.bytes <= given <= ALIGNMENT:
            self._fail(f"`align` must be a power of two from {dtype.bytes} to {ALIGNMENT}, in bytes", *path, "align")
        return given

    def _non_finite(self, name: str, table: dict[str, Any], path: tuple[str, int], role: Role, dtype: DType) -> bool:
        given = table.get("non_finite", False)
        if not isinstance(given, bool):
            self._fail("`non_finite` must be true or false", *path, "non_finite")
        if given and (role == "scalar" or dtype.kind == "int"):
            what = "a scalar" if role == "scalar" else dtype.name
            self._fail(f"argument `{name}` is {what} and cannot be `non_finite`", *path, "non_finite")
        return given

    def _name(self, table: dict[str, Any], path: tuple[str, int]) -> str:
        name = table.get("name")
        if name is None:
            self._fail("an argument has no `name`", *path)
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or keyword.iskeyword(name):
            self._fail(f"{_shown(name)} cannot be the name of a parameter in C and Python", *path, "name")
        if len(name) > _LONGEST_NAME:
            self._fail(f"the name of an argument has more than {_LONGEST_NAME} characters", *path, "name")
        if name in ("held_out", "min", "max", "ceil_div"):
            self._fail(f"{name!r} is reserved and cannot be the name of an argument", *path, "name")
        return name

    def _dtype(self, name: str, table: dict[str, Any], path: tuple[str, int]) -> DType:
        dtype = table.get("dtype")
        if dtype is None:
            self._fail(f"argument `{name}` has no `dtype`", *path)
        if not isinstance(dtype, str) or dtype not in DTYPES:
            self._fail(
                f"argument `{name}`: unknown dtype {_shown(dtype)}", *path, "dtype", hint=suggest_dtype(str(dtype))
            )
        return DTYPES[dtype]

    def _shape(self, name: str, table: dict[str, Any], path: tuple[str, int]) -> tuple[Expression, ...] | None:
        shape = table.get("shape")
        if shape is None:
            return None
        if not isinstance(shape, list) or not shape:
            self._fail(
                f'argument `{name}`: `shape` must be a list such as ["rows", "cols"]',
                *path,
                "shape",
                hint="leave `shape` out for a scalar argument",
            )
        if len(shape) > _MOST_DIMENSIONS:
            self._fail(
                f"argument `{name}`: `shape` has {len(shape)} dimensions, more than {_MOST_DIMENSIONS}", *path, "shape"
            )
        for dimension in shape:
            if not isinstance(dimension, int | str) or isinstance(dimension, bool):
                self._fail(
                    f"argument `{name}`: {_shown(dimension)} in `shape` is not an integer expression", *path, "shape"
                )
        try:
            return tuple(parse_expression(dimension) for dimension in shape)
        except ExpressionError as error:
            self._fail(f"argument `{name}`, `shape`: {error.message}", *path, "shape")

    def _role(self, name: str, table: dict[str, Any], path: tuple[str, int], *, is_array: bool) -> Role:
        role = table.get("role")
        if role is not None and role not in _ROLES:
            self._fail(f"argument `{name}`: unknown role {_shown(role)}; known are in, out, inout", *path, "role")
        if is_array:
            if role is None:
                self._fail(f"argument `{name}` is an array and has no `role`: in, out or inout", *path)
            return _ROLES[role]
        if role in ("out", "inout"):
            self._fail(
                f"argument `{name}` has no `shape`, so it is a scalar and cannot be an output",
                *path,
                "role",
                hint="shape = [1] makes it an array of one element",
            )
        return "scalar"

    def _init(self, name: str, table: dict[str, Any], path: tuple[str, int], role: Role, dtype: DType) -> Init | None:
        init = table.get("init")
        if role not in ("in", "inout"):
            if init is not None:
                why = "it is a scalar" if role == "scalar" else "it is an output"
                self._fail(f"argument `{name}` takes no `init`: {why}", *path, "init")
            return None
        if init is None:
            return default_init(dtype)
        if not isinstance(init, str):
            self._fail(f'argument `{name}`: `init` must be a string such as "normal"', *path, "init")
        try:
            return parse_init(init, dtype)
        except InitError as error:
            self._fail(f"argument `{name}`, `init`: {error}", *path, "init")

    def _unique(self, arguments: Sequence[Argument]) -> None:
        seen: set[str] = set()
        for index, argument in enumerate(arguments):
            if argument.name in seen:
                self._fail(f"two arguments are named `{argument.name}`", "arguments", index, "name")
            seen.add(argument.name)

    # ---- [[cases]] ----

    def _case(self, table: dict[str, Any], path: tuple[str, int], arguments: Sequence[Argument]) -> Case:
        held_out = table.get("held_out", False)
        if not isinstance(held_out, bool):
            self._fail("`held_out` must be true or false", *path, "held_out")
        if not isinstance(profile := table.get("profile", False), bool):
            self._fail("`profile` must be true or false", *path, "profile")
        if profile and held_out:
            self._fail("a case for profiles cannot be held out", *path, "profile")
        given = {key: value for key, value in table.items() if key not in ("held_out", "profile")}
        if len(given) > _MOST_VALUES:
            self._fail(f"case {path[1] + 1} has {len(given)} values, more than {_MOST_VALUES}", *path)
        arrays = {argument.name for argument in arguments if argument.role != "scalar"}
        dtypes = {argument.name: argument.dtype for argument in arguments if argument.role == "scalar"}
        values: dict[str, Number] = {}
        for name in dtypes:
            if name not in given:
                self._fail(f"case {path[1] + 1} has no value for the scalar `{name}`", *path)
        for key, value in given.items():
            if key in arrays:
                self._fail(f"`{key}` is an array and has no value in a case; its `init` fills it", *path, key)
            values[key] = self._number(key, value, dtypes.get(key), path)
        name = ", ".join(f"{key}={value}" for key, value in values.items()) or f"case {path[1] + 1}"
        case = Case(name=name, values=values, held_out=held_out, line=self._lines.line_of(*path))
        if reason := why_case_refused(case, arguments, self._limits):
            self._fail(f"case {path[1] + 1}: {reason}", *path)
        return case

    def _number(self, key: str, value: Any, dtype: DType | None, path: tuple[str, int]) -> Number:
        if not re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII):
            self._fail(f"{_shown(key)} cannot be the name of a scalar", *path, key)
        if not isinstance(value, Number) or isinstance(value, bool):
            self._fail(f"`{key}` must be a number, not {_shown(value)}", *path, key)
        if dtype and dtype.kind == "int" and not isinstance(value, int):
            self._fail(f"`{key}` is {dtype.name} and must be a whole number, not {_shown(value)}", *path, key)
        limits = (dtype.smallest, dtype.largest) if dtype else (-(2**63), 2**63 - 1)
        if not limits[0] <= value <= limits[1]:
            self._fail(f"`{key}` = {value} does not fit into {dtype.name if dtype else 'i64'}", *path, key)
        return value

    def _check_total(self, cases: Sequence[Case], arguments: Sequence[Argument]) -> None:
        """Inputs and outputs of all cases are held at the same time."""
        beyond = first_case_beyond(cases, arguments, self._limits)
        if beyond is not None:
            limit = self._limits.problem_bytes >> 20
            message = f"the arrays of cases 1 to {beyond + 1} together take more than {limit} MiB"
            self._fail(message, "cases", beyond, hint="the setting max_problem_mib allows more")


def _shown(value: object) -> str:
    """The value as the file may have it, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME]}…"
