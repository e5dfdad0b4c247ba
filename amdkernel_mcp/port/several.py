"""Several launches of one host function as one candidate: a plan in their order, with workspaces between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from amdkernel_mcp.errors import InputError
from amdkernel_mcp.port.candidate import Candidate, device_sources, make_candidate, with_device_code, with_numbers
from amdkernel_mcp.port.cuda_names import CudaNames
from amdkernel_mcp.port.draft import Draft, clear_kernel, clear_line, draft_of_problem, draft_of_reference
from amdkernel_mcp.port.for_problem import Bound, Parameter, adds, bind
from amdkernel_mcp.port.functions import Function, Source
from amdkernel_mcp.port.host_code import HostArithmeticError, HostCode, launches
from amdkernel_mcp.port.host_loops import without_loops
from amdkernel_mcp.port.tokens import arguments, closing, joined_launches
from amdkernel_mcp.problems.problem import Problem

_COPY = re.compile(r"(?:cuda|hip)Memcpy(?:Async)?")
_CLEAR = re.compile(r"(?:cuda|hip)Memset(?:Async)?")
_MADE = frozenset(["empty", "zeros", "empty_like", "zeros_like"])
_NAME = re.compile(r"\w+")


@dataclass
class _Array:
    """An array as the host calls it. uses: what each launch does with it, in their order."""

    name: str
    parameter: Parameter
    place: tuple[int, int]
    uses: list[str] = field(default_factory=list)
    adds: bool = False
    scratch: bool = False

    @property
    def role(self) -> str:
        """What all launches together do with it."""
        if all(use == "in" for use in self.uses):
            return "in"
        return "out" if self.uses[0] == "out" else "inout"


def candidate_of(text: str, names: CudaNames, name: str, problem: Problem | None = None) -> Candidate:
    """The candidate of a kernel, or of all that a function of the host launches. problem: as `make_candidate` has it.

    Raises InputError where the source has no such kernel or function, or where it does not fit the problem.
    """
    source = Source.of(without_loops(joined_launches(device_sources(text))[0], name))
    hosts = [each for each in source.functions if each.name == name and not each.device]
    return make_several(source, names, hosts[-1], problem) if hosts else make_candidate(text, names, name, problem)


def make_several(source: Source, names: CudaNames, host: Function, problem: Problem | None) -> Candidate:
    """All launches of a function of the host, as one candidate.

    Arrays that it allocates, that one launch writes and another reads, and that it does not hand on become workspaces.
    Raises InputError for a launch in a loop, for a part of an array, and where it does not fit the problem.
    """
    drafts = list(_drafts(source, names, host))
    arrays = _arrays(source, host, drafts)
    if problem is not None:
        bound = _bound(source, drafts, arrays, problem)
        if bound.fixed:
            return _without_numbers(drafts, bound.fixed, names, host.name, problem)
        called = _by_host_names(arrays, bound)
    else:
        bound, called = None, {name: _plain(name) for name in arrays}
    lines: list[str] = []
    by_hand: list[str] = list(bound.guesses) if bound else []
    clears: dict[str, str] = {}
    scalars: dict[str, tuple[Parameter, tuple[str, str]]] = {}
    sizes = [_sizes(draft, bound, scalars) for draft in drafts]
    for draft, known in zip(drafts, sizes, strict=True):
        draft.bound = bound
        draft.know(known)
        draft.bound = None  # its line is ours
    for name, each in arrays.items():
        if each.scratch:
            size = _elements(drafts, each, by_hand)
            lines.append(f"// amdkernel: workspace {called[name]} dtype={each.parameter.dtype or 'f32'} shape=[{size}]")
    for name, each in arrays.items():
        size = ""
        if each.scratch and each.role == "inout":
            size = _elements(drafts, each, [])
        elif bound and each.parameter.name in bound.cleared:
            size = bound.cleared[each.parameter.name]
        if size:
            clears[name] = clear_kernel(called[name], each.parameter.declared)
            lines.append(clear_line(called[name], called[name], size))
    for draft, known in zip(drafts, sizes, strict=True):
        configuration, unread = draft.configuration()
        by_hand += unread
        passed = ", ".join(_passed(draft, called, known))
        lines.append(f"// amdkernel: launch {draft.called} {configuration} args=[{passed}]")
    made = with_device_code(source, names, drafts, "\n".join(lines), by_hand, "\n".join(clears.values()))
    made = replace(made, kernel=host.name)
    if problem is not None:
        return made
    wanted = [replace(each.parameter, name=called[name]) for name, each in arrays.items() if not each.scratch]
    roles = {called[name]: each.role for name, each in arrays.items()}
    guesses: list[str] = []
    shapes = {called[name]: _elements(drafts, each, guesses) for name, each in arrays.items() if not each.scratch}
    parameters = [*wanted, *(parameter for parameter, _ in scalars.values())]
    values = {name: value for name, (_, value) in scalars.items()}
    return replace(
        made,
        problem=draft_of_problem(host.name, parameters, roles, shapes, values),
        reference=draft_of_reference(parameters, roles),
        by_hand=(*made.by_hand, *guesses, "reference.py: what the launches compute, in NumPy"),
    )


def _drafts(source: Source, names: CudaNames, host: Function) -> Iterator[Draft]:
    inside = [each for each in launches(source) if host.body < each.place < host.end]
    if not inside:
        raise InputError(f"{host.name} launches no kernel", hint="name a kernel, or the function that launches it")
    for launch in inside:
        if _in_loop(source, host, launch.place):
            line = source.tokens[launch.place].line
            hint = f"take it alone: --candidate {launch.kernel}"
            raise InputError(f"{launch.kernel} is launched in a loop (line {line}), which no plan has", hint=hint)
        kernel = next((each for each in reversed(source.functions) if each.kernel and each.name == launch.kernel), None)
        if kernel is None:
            raise InputError(f"the source has no kernel {launch.kernel}", hint="send the header that has it")
        yield Draft(source, kernel, launch, names)


def _in_loop(source: Source, host: Function, place: int) -> bool:
    """Whether a loop is around the launch, with brackets or without."""
    tokens = source.tokens
    for at in range(host.body, place):
        if tokens[at].text in ("for", "while") and tokens[at + 1].text == "(":
            body = closing(tokens, at + 1) + 1
            end = closing(tokens, body) if tokens[body].text == "{" else body
            while tokens[body].text != "{" and end < len(tokens) and tokens[end].text != ";":
                end += 1
            if body <= place <= end:
                return True
        if tokens[at].text == "do" and tokens[at + 1].text == "{" and at < place < closing(tokens, at + 1):
            return True
    return False


def _arrays(source: Source, host: Function, drafts: Sequence[Draft]) -> dict[str, _Array]:
    """The arrays of all launches by the host's names."""
    found: dict[str, _Array] = {}
    for draft in drafts:
        for parameter, (begin, end) in zip(draft.parameters, draft.launch.passed, strict=False):
            if not parameter.pointer:
                continue
            name = _array_name([each.text for each in source.tokens[begin:end]])
            if name is None:
                text = "".join(each.text for each in source.tokens[begin:end])[:60]
                line = source.tokens[begin].line
                raise InputError(
                    f"{draft.function.name} gets {text!r} (line {line})", hint="a plan passes whole arrays"
                )
            each = found.setdefault(name, _Array(name, replace(parameter, name=name), (begin, end)))
            use = "in" if parameter.constant else draft.role(parameter.name)
            each.uses.append(use)
            each.adds = each.adds or (use == "inout" and adds(source, parameter.name))
    outside = _handed_on(source, host)
    for each in found.values():
        between = bool({"in", "inout"} & set(each.uses[1:]))
        # What the first launch reads of memory that is not filled, it wrote itself; a sum needs the host's zeros.
        filled = not each.adds or _cleared(source, host, each.name)
        written = each.uses[0] == "out" or (each.uses[0] == "inout" and filled)
        each.scratch = between and written and each.name not in outside and _allocated(source, host, each.name)
    return found


def _array_name(words: Sequence[str]) -> str | None:
    """The host's name in `x`, `(float*)x`, `x.data_ptr<float>()` and `thrust::raw_pointer_cast(x.data())`."""
    names = [each for each in words if _NAME.fullmatch(each)]
    if any(each in words for each in ("+", "[", "-", "&")):
        return None
    if len(words) > 1 and words[1] == "." and words[2:3] and words[2].startswith("data"):
        return words[0]
    if words[:1] == ["("] and ")" in words and words[words.index(")") + 1 :]:
        rest = words[words.index(")") + 1 :]
        return rest[0] if len(rest) == 1 else _array_name(rest)
    return names[0] if len(words) == 1 and names else None


def _handed_on(source: Source, host: Function) -> set[str]:
    """What the host copies to itself, returns, or was given."""
    tokens = source.tokens
    found = {each.text for each in tokens[host.opened : host.body] if each.kind == "name"}
    for at in range(host.body, host.end):
        if tokens[at].text == "return":
            end = next(place for place in range(at, len(tokens)) if tokens[place].text == ";")
            found |= {each.text for each in tokens[at:end]}
        if _COPY.fullmatch(tokens[at].text) and tokens[at + 1].text == "(":
            for begin, end in arguments(tokens, at + 1)[:2]:
                found |= {each.text for each in tokens[begin:end]}
    return found


def _cleared(source: Source, host: Function, name: str) -> bool:
    tokens = source.tokens
    for at in range(host.body, host.end):
        words = [each.text for each in tokens[at : at + 4]]
        if _CLEAR.fullmatch(words[0]) and words[2:3] == [name]:
            return True
        if words[:2] == [name, "="] and any(each.text.startswith("zeros") for each in tokens[at : at + 6]):
            return True
    return False


def _allocated(source: Source, host: Function, name: str) -> bool:
    """Whether the function makes it: what is given to it is none of its own."""
    tokens = source.tokens
    for at in range(host.body, host.end):
        if re.fullmatch(r"(?:cuda|hip)Malloc\w*", tokens[at].text) and tokens[at + 1].text == "(":
            begin, end = arguments(tokens, at + 1)[0]
            if name in {each.text for each in tokens[begin:end]}:
                return True
        if (
            tokens[at].text == name
            and tokens[at + 1].text == "="
            and {each.text for each in tokens[at : at + 6]} & _MADE
        ):
            return True
    return False


def _bound(source: Source, drafts: Sequence[Draft], arrays: Mapping[str, _Array], problem: Problem) -> Bound:
    """All that the launches take, as the parameters of one kernel."""
    parameters, passed, seen = [], [], set[str]()
    for each in arrays.values():
        if not each.scratch:
            parameters.append(replace(each.parameter, constant=each.role == "in"))
            passed.append(each.place)
    for draft in drafts:
        for parameter, (begin, end) in zip(draft.parameters, draft.launch.passed, strict=False):
            key = "".join(word.text for word in source.tokens[begin:end])
            if parameter.pointer or key in seen or source.constants.value(source.tokens[begin:end]) is not None:
                continue
            seen.add(key)
            parameters.append(
                replace(parameter, name=key if _NAME.fullmatch(key) else f"{parameter.name}__{len(seen)}")
            )
            passed.append((begin, end))
    launch = replace(drafts[-1].launch, template=(), passed=tuple(passed))
    roles = {name: each.role for name, each in arrays.items()}
    bound = bind(parameters, roles, source, launch, problem)
    of = dict(zip([each.name for each in parameters if each.name not in bound.fixed], bound.arguments, strict=True))
    outputs = {each.name: each for each in problem.outputs}
    cleared = {
        name: " * ".join(f"({size.text})" for size in outputs[of[name]].shape or ()) or "1"
        for name, each in arrays.items()
        if of.get(name) in outputs and each.role == "inout" and each.adds
    }
    keys = {
        "".join(word.text for word in source.tokens[a:b]): each.name
        for each, (a, b) in zip(parameters, passed, strict=True)
    }
    sizes = {key: of[name] for key, name in keys.items() if name in of}
    fixed = {key: bound.fixed[name] for key, name in keys.items() if name in bound.fixed}
    return replace(bound, sizes=sizes, fixed=fixed, cleared=cleared)


def _by_host_names(arrays: Mapping[str, _Array], bound: Bound) -> dict[str, str]:
    """What the plan calls each array: the problem's argument, or the workspace."""
    by_key = {_array_name(_words(key)) or key: name for key, name in bound.sizes.items()}
    return {name: f"{_plain(name)}_between" if each.scratch else by_key[name] for name, each in arrays.items()}


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text)


def _plain(name: str) -> str:
    return re.sub(r"^(?:d_|dev_|d(?=[A-Z]))", "", name) or name


def _sizes(draft: Draft, bound: Bound | None, scalars: dict[str, tuple[Parameter, tuple[str, str]]]) -> dict[str, str]:
    """What the plan calls the scalars of one kernel. scalars: gets those that no problem and no number gives."""
    found: dict[str, str] = {}
    tokens = draft.source.tokens
    for parameter, (begin, end) in zip(draft.parameters, draft.launch.passed, strict=False):
        if parameter.pointer:
            continue
        key = "".join(word.text for word in tokens[begin:end])
        value = draft.source.constants.value(tokens[begin:end])
        if bound is not None and key in bound.sizes:
            found[parameter.name] = bound.sizes[key]
        elif value is not None and (bound is not None or not _NAME.fullmatch(key) or key.isdigit()):
            found[parameter.name] = str(value)
        elif made := _computed(draft, key, scalars):
            found[parameter.name] = made
        else:
            name = key.lower() if _NAME.fullmatch(key) and not key[0].isdigit() else parameter.name
            found[parameter.name] = name
            values = draft.value(parameter, 0), draft.value(parameter, 3)
            scalars.setdefault(name, (replace(parameter, name=name), values))
    return found


def _computed(draft: Draft, key: str, scalars: Mapping[str, tuple[Parameter, tuple[str, str]]]) -> str | None:
    """What the host computes from sizes that are known already."""
    value = draft.host.given(key) if _NAME.fullmatch(key) else None
    tokens = draft.source.tokens
    by_host = {each.text: each.text.lower() for each in tokens if each.text.lower() in scalars}
    if value is None or not by_host:
        return None
    try:
        made = HostCode(draft.source, draft.launch, by_host).expression(value)
    except (HostArithmeticError, IndexError):
        return None
    return made if {*re.findall(r"[A-Za-z_]\w*", made)} - {"min", "max", "ceil_div"} <= set(scalars) else None


def _passed(draft: Draft, called: Mapping[str, str], sizes: Mapping[str, str]) -> Iterator[str]:
    for parameter, (begin, end) in zip(draft.parameters, draft.launch.passed, strict=False):
        if parameter.pointer:
            name = _array_name([each.text for each in draft.source.tokens[begin:end]])
            yield called[name or ""]
        else:
            yield sizes[parameter.name]


def _elements(drafts: Sequence[Draft], array: _Array, by_hand: list[str]) -> str:
    """How many elements the host allocates for it."""
    begin, end = array.place
    for draft in drafts:
        tokens = draft.source.tokens[begin:end]
        made = draft.host.elements([each for each in tokens if each.text == array.name] or tokens)
        if made is None:
            made = _of_tensor(draft, array.name)
        if made is not None:
            return made
    by_hand.append(f"the shape of {array.name} is a guess: the host's allocation was not found")
    return "1024"


def _of_tensor(draft: Draft, name: str) -> str | None:
    """Of `auto name = torch::empty({a, b}, …)`, or like a tensor whose shape is known."""
    shape = draft.host.shape(name)
    if shape:
        return " * ".join(each if _NAME.fullmatch(each) else f"({each})" for each in shape)
    value = list(draft.host.given(name) or ())
    opened = next((at for at, each in enumerate(value) if each.text == "{"), None)
    if opened is None:
        return None
    given = arguments(value, opened)
    try:
        parts = [draft.host.expression(value[begin:end]) for begin, end in given]
    except HostArithmeticError:
        return None
    return " * ".join(each if _NAME.fullmatch(each) else f"({each})" for each in parts)


def _without_numbers(
    drafts: Sequence[Draft], fixed: Mapping[str, str], names: CudaNames, host: str, problem: Problem
) -> Candidate:
    """Again with the floats that the host passes as constants of the kernels."""
    for draft in drafts:
        tokens = draft.source.tokens
        own = {
            parameter.name: fixed[key]
            for parameter, (begin, end) in zip(draft.parameters, draft.launch.passed, strict=False)
            if (key := "".join(each.text for each in tokens[begin:end])) in fixed
        }
        if own:
            return candidate_of(with_numbers(draft, own), names, host, problem)
    raise InputError("a number of the host fits no kernel", hint="take the kernels one by one")
