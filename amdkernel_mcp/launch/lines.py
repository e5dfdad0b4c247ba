"""Reads the `amdkernel:` comments; a line that cannot be parsed is reported with its number."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from amdkernel_mcp.compiler.header_libraries import check_hip_flags
from amdkernel_mcp.errors import FlagError
from amdkernel_mcp.expressions import Expression, ExpressionError, parse_expression
from amdkernel_mcp.launch.no_kernel import constant_hint, why_no_plan
from amdkernel_mcp.launch.plan import Launch, LaunchPlan, Workspace
from amdkernel_mcp.launch.pointer_types import wrong_pointers
from amdkernel_mcp.problems.dtypes import DTYPES, suggest_dtype
from amdkernel_mcp.problems.problem import Problem
from amdkernel_mcp.results.kernels import Finding

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_CONSTANT = re.compile(r"""-?[\w.+-]{1,60}|"[\w. -]{0,60}"|'[\w. -]{0,60}'""", re.ASCII)
_FORMS = {
    "workspace": "workspace NAME dtype=f32 shape=[ceil_div(n, 4096), 2]",
    "tune": "tune TILE=[16, 32]",
}
_LONGEST_MESSAGE = 500
_MOST_DIMENSIONS = 8


@dataclass(frozen=True)
class Syntax:
    """What differs from language to language."""

    comment: str = "//"
    """Regular expression of what begins a comment."""
    verbs: tuple[str, ...] = ("launch", "workspace", "build", "tune")
    sizes: tuple[str, ...] = ("grid", "block")
    """What a launch must have. A size that is not here is the compiler's, or what the source says."""
    settings: tuple[str, ...] = ("grid", "block", "lds", "args")
    constants_in_launch: bool = False
    """Whether a launch may give values to other names, as a `constexpr` line does."""
    example: str = "// amdkernel: launch NAME grid=[ceil_div(n, 256)] block=[256]"
    check_flags: Callable[[Sequence[str]], object] = check_hip_flags
    """Raises FlagError."""
    optional_arguments: bool = False
    """Whether `None` is an argument: nothing is handed over, and the kernel is compiled without it."""
    c_pointers: bool = True
    """Whether parameters are declared as in C."""


HIP_LINES = Syntax()


class _NoArgument(Expression):
    """`None` among the arguments of a launch."""

    def value(self, scalars: Mapping[str, int | float]) -> int:
        """Nothing that a kernel could see: it is compiled without this argument."""
        del scalars
        return 0


NO_ARGUMENT = _NoArgument("None", frozenset())


def read_launch_plan(source: str, problem: Problem | None = None, syntax: Syntax = HIP_LINES) -> LaunchPlan:
    """What the `amdkernel:` comments of `source` say, and what is wrong with them.

    Without a problem (to compile only) no launch is needed and names are not checked.
    """
    return _PlanReader(source, problem, syntax).plan()


class _Mistake(Exception):
    """What is wrong with one line."""


class _PlanReader:
    """Reads one candidate's text."""

    def __init__(self, source: str, problem: Problem | None, syntax: Syntax) -> None:
        self._source = source
        self._problem = problem
        self._syntax = syntax
        self._plan = LaunchPlan()
        self._mistakes: list[Finding] = []
        self._saw_launch = False

    def plan(self) -> LaunchPlan:
        known = {
            "launch": self._launch,
            "workspace": self._workspace,
            "build": self._build,
            "tune": self._tune,
            "constexpr": self._constexpr,
        }
        readers = {verb: known[verb] for verb in self._syntax.verbs}
        for line, text in self._lines():
            verb, _, rest = text.strip().partition(" ")
            self._saw_launch |= verb == "launch"
            try:
                if verb not in readers:
                    near = difflib.get_close_matches(verb, self._syntax.verbs, n=1)
                    self._saw_launch |= near == ["launch"]  # misspelt: that it is missing would be a second finding
                    meant = f"; did you mean `{near[0]}`?" if near else f": they are {', '.join(self._syntax.verbs)}"
                    meant += "; write an expression where it is used" if re.match(r"\w+\s*=", rest.strip()) else ""
                    raise _Mistake(f"`{verb}` is not a plan line{meant}")
                readers[verb](rest.strip(), line)
            except _Mistake as mistake:
                self._wrong(str(mistake), line)
            except ExpressionError as error:
                self._wrong(f"{verb}: {error.message}", line)
        if self._problem is not None:
            self._check_names(self._problem)
            if self._syntax.c_pointers:
                self._mistakes += wrong_pointers(self._source, self._plan, self._problem)
        return replace(self._plan, mistakes=tuple(self._mistakes))

    def _lines(self) -> Iterator[tuple[int, str]]:
        line = rf"^[ \t]*(?:{self._syntax.comment})[ \t]*amdkernel[ \t]*:(.*)$"
        for match in re.finditer(line, self._source, re.MULTILINE):
            yield self._source.count("\n", 0, match.start(1)) + 1, match[1]

    def _wrong(self, message: str, line: int | None) -> None:
        shown = message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"
        self._mistakes.append(Finding(kind="launch_plan", message=shown, line=line))

    # ---- one line each ----

    def _launch(self, rest: str, line: int) -> None:
        syntax = self._syntax
        name, settings = _name_and_settings("launch", rest)
        others = {key: value for key, value in settings.items() if key not in syntax.settings}
        unknown = [key for key in others if not syntax.constants_in_launch or key in HIP_LINES.settings]
        if unknown:
            raise _unknown_setting(f"launch {name}", unknown[0], syntax.settings)
        if others:
            self._define(f"launch {name}", others, line)
        missing = [key for key in syntax.sizes if key not in settings]
        if missing:
            form = " ".join(f"{key}=[..]" for key in syntax.sizes)
            raise _Mistake(f"launch {name} has no {missing[0]}: launch {name} {form}")
        sizes = {
            key: tuple(map(parse_expression, _items(settings[key]))) for key in ("grid", "block") if key in settings
        }
        for key, dimensions in sizes.items():
            if not 1 <= len(dimensions) <= 3:
                raise _Mistake(f"launch {name}: {key} has {len(dimensions)} items, not 1 to 3")
        arguments = None if "args" not in settings else tuple(map(self._launch_argument, _items(settings["args"])))
        lds = parse_expression(settings.get("lds", "0"))
        types = tuple(_items(settings["types"])) if "types" in settings else None
        launch = Launch(name, sizes.get("grid", ()), sizes.get("block", ()), lds, arguments, line, types)
        self._plan = replace(self._plan, launches=(*self._plan.launches, launch))

    def _launch_argument(self, text: str) -> str | Expression:
        if text == "None" and self._syntax.optional_arguments:
            return NO_ARGUMENT
        return text if _NAME.fullmatch(text) else parse_expression(text)

    def _constexpr(self, rest: str, line: int) -> None:
        self._define("constexpr", _settings("constexpr", rest), line)

    def _define(self, where: str, values: dict[str, str], line: int) -> None:
        """Constants are the `-D` flags of the plan, so that `tune` and records treat them as in any language."""
        for name, value in values.items():
            flag = f"-D{name}={value}"
            if _NAME.fullmatch(name) and not _CONSTANT.fullmatch(value) and "(" in value:
                self._compute(where, name, value)
                continue
            if not _NAME.fullmatch(name) or not _CONSTANT.fullmatch(value):
                raise _Mistake(
                    f"{where}: {name}={value[:60]} must be a number, a name or a quoted text, one for all cases, or"
                    " a function of the case such as next_power_of_2(n)"
                )
            earlier = next((each for each in self._plan.build if each.startswith(f"-D{name}=")), flag)
            if earlier != flag:
                raise _Mistake(f"{where}: {name} has two values, {earlier.partition('=')[2]} and {value}")
            if flag not in self._plan.build:
                first = self._plan.build_line or line
                self._plan = replace(self._plan, build=(*self._plan.build, flag), build_line=first)

    def _compute(self, where: str, name: str, value: str) -> None:
        """A constant with a value in each case: the compiler makes a code for each value."""
        expression = parse_expression(value)
        earlier = dict(self._plan.computed).get(name, expression)
        if earlier != expression or any(each.startswith(f"-D{name}=") for each in self._plan.build):
            raise _Mistake(f"{where}: {name} has two values")
        if name not in dict(self._plan.computed):
            self._plan = replace(self._plan, computed=(*self._plan.computed, (name, expression)))

    def _workspace(self, rest: str, line: int) -> None:
        name, settings = _name_and_settings("workspace", rest)
        for key in settings:
            if key not in ("dtype", "shape"):
                raise _unknown_setting(f"workspace {name}", key, ("dtype", "shape"))
        missing = [key for key in ("dtype", "shape") if key not in settings]
        if missing:
            raise _Mistake(f"workspace {name} has no {missing[0]}: workspace {name} dtype=f32 shape=[..]")
        if not _NAME.fullmatch(name):
            raise _Mistake(f"{name!r} cannot be the name of a workspace")
        dtype = settings["dtype"].strip("\"'")
        if dtype not in DTYPES:
            raise _Mistake(f"workspace {name}: unknown dtype {dtype!r}; {suggest_dtype(dtype)}")
        shape = tuple(map(parse_expression, _items(settings["shape"])))
        if not shape:
            raise _Mistake(f"workspace {name} has an empty shape")
        if len(shape) > _MOST_DIMENSIONS:
            raise _Mistake(f"workspace {name} has {len(shape)} dimensions, more than {_MOST_DIMENSIONS}")
        workspace = Workspace(name, DTYPES[dtype], shape, line)
        self._plan = replace(self._plan, workspaces=(*self._plan.workspaces, workspace))

    def _build(self, rest: str, line: int) -> None:
        try:
            flags = shlex.split(rest)
        except ValueError as error:
            raise _Mistake(f"build: {error}") from None
        if self._problem is not None:  # without one the compiler refuses: its caller wants to know nothing else
            try:
                self._syntax.check_flags(flags)
            except FlagError as error:
                raise _Mistake(f"build: {error.message}") from None
        for index in range(len(flags) - 2, -1, -1):
            if flags[index] == "-D":
                flags[index : index + 2] = ["-D" + flags[index + 1]]
        self._plan = replace(self._plan, build=(*self._plan.build, *flags), build_line=self._plan.build_line or line)

    def _tune(self, rest: str, _line: int) -> None:
        values: dict[str, tuple[str, ...]] = dict(self._plan.tune or {})
        for name, text in _settings("tune", rest).items():
            values[name] = tuple(_items(text))
            if not values[name] or not all(re.fullmatch(r"-?\w+", value, re.ASCII) for value in values[name]):
                raise _Mistake(f"tune {name}={text}: a list of numbers or names such as [16, 32]")
        if not values:
            raise _Mistake("tune names nothing: tune TILE=[16,32]")
        self._plan = replace(self._plan, tune=values)

    # ---- against the problem ----

    def _check_names(self, problem: Problem) -> None:
        if not self._saw_launch:
            hip = self._syntax is HIP_LINES
            lacks = f"the candidate has no launch plan: add a line such as `{self._syntax.example}`"
            self._wrong(why_no_plan(self._source) if hip else lacks, None)
        self._check_workspaces(problem)
        given = set(self._plan.constants()).union(*(case.values for case in problem.cases))
        line = self._plan.launches[0].line if self._plan.launches else 1
        for name, expression in self._plan.computed:
            self._check_scalars(f"constexpr {name}", (expression,), given, line)
            if name in (self._plan.tune or {}):
                self._wrong(f"constexpr {name} is a function of the case, and `tune` has values for it: keep one", line)
        scalars = given | {name for name, _ in self._plan.computed}
        arrays = {argument.name for argument in problem.arrays} | {space.name for space in self._plan.workspaces}
        for launch in self._plan.launches:
            for key, expressions in (("grid", launch.grid), ("block", launch.block), ("lds", (launch.lds,))):
                self._check_scalars(f"launch {launch.kernel}: {key}", expressions, scalars, launch.line)
            for argument in launch.args or ():
                if isinstance(argument, Expression):
                    self._check_scalars(f"launch {launch.kernel}: args", (argument,), scalars, launch.line)
                elif argument not in arrays and argument not in scalars:
                    known = ", ".join([*sorted(arrays), *sorted(scalars)])
                    self._wrong(
                        f"launch {launch.kernel}: args names {argument!r}, which is neither an argument nor a workspace"
                        f" (known: {known})",
                        launch.line,
                    )

    def _check_workspaces(self, problem: Problem) -> None:
        scalars = {name for name, _ in self._plan.computed}.union(
            self._plan.constants(), *(case.values for case in problem.cases)
        )
        taken = {argument.name for argument in problem.arguments} | scalars
        for workspace in self._plan.workspaces:
            if workspace.name in taken:
                self._wrong(f"workspace {workspace.name}: the name is already taken", workspace.line)
            taken.add(workspace.name)
            self._check_scalars(f"workspace {workspace.name}: shape", workspace.shape, scalars, workspace.line)

    def _check_scalars(self, where: str, expressions: tuple[Expression, ...], scalars: set[str], line: int) -> None:
        for expression in expressions:
            for name in sorted(expression.names - scalars):
                known = ", ".join(sorted(scalars)) or "none"
                near = difflib.get_close_matches(name, scalars, n=1)
                meant = f"; did you mean {near[0]!r}?" if near else ""
                meant = constant_hint(self._source, name) or meant
                self._wrong(f"{where} uses {name!r}, which is not a scalar{meant} (scalars: {known})", line)


def _unknown_setting(where: str, key: str, known: Sequence[str]) -> _Mistake:
    return _Mistake(f"{where} has no setting {key!r}; it has {', '.join(known)}")


def _name_and_settings(verb: str, rest: str) -> tuple[str, dict[str, str]]:
    # a kernel's name may be an instance of a template, with spaces: `scale<float, 4>`
    match = re.match(r"([\w:]+\s*(?:<[^=\[\]]*>)?)(?!\s*=)(?![\w:])", rest)
    if match is None:
        first = {"launch": "grid", "workspace": "dtype"}[verb]
        raise _Mistake(f"{verb} needs a name first: {verb} NAME {first}=..")
    return match[1].strip(), _settings(verb, rest[match.end() :])


def _settings(verb: str, text: str) -> dict[str, str]:
    """`a=[x, y] b=z` as a dict; a value ends at the next `key=` outside brackets."""
    starts: list[tuple[int, int, str]] = []
    depth = 0
    for match in re.finditer(r"[\[(]|[\])]|(?<![\w=])(\w+)\s*=(?!=)", text):
        if match[0] in "[(":
            depth += 1
        elif match[0] in "])":
            depth -= 1
        elif depth == 0:
            starts.append((match.start(), match.end(), match[1]))
    stray = text[: starts[0][0] if starts else len(text)].strip()
    if stray or depth != 0:
        form = f": {_FORMS[verb]}" if verb in _FORMS else ""
        raise _Mistake(f"{verb}: {stray!r} is not a setting{form}" if stray else f"{verb}: a bracket is not closed")
    ends = [start for start, _, _ in starts[1:]] + [len(text)] * bool(starts)
    settings: dict[str, str] = {}
    for (_, begin, key), end in zip(starts, ends, strict=True):
        if key in settings:
            raise _Mistake(f"{verb}: {key} is given twice")
        settings[key] = text[begin:end].strip().rstrip(",").strip()
        if not settings[key]:
            raise _Mistake(f"{verb}: {key} has no value")
    return settings


def _items(text: str) -> list[str]:
    """The items of `[a, min(b, c)]`; a text without brackets is one item."""
    if not text.startswith("["):
        return [text]
    if not text.endswith("]"):
        raise _Mistake(f"{text!r} has no closing bracket at its end")
    items, depth = [""], 0
    for character in text[1:-1]:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and depth == 0:
            items.append("")
        else:
            items[-1] += character
    items = [item.strip() for item in items]
    if items[-1] == "":
        items.pop()  # a comma at the end, or an empty list
    return items
