"""Operations that read many elements for one of the result: sums, extremes, products of matrices, convolutions, pools.

Each is a loop in one thread. Sums are taken in double.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from amdkernel_mcp.importing.index_ops import part_of_split
from amdkernel_mcp.importing.inspection import Ref, Size, Step
from amdkernel_mcp.importing.kernel_writer import KernelWriter, NotDrafted, Value, c, formulas, items, load, whole

_WIDE = {
    "i64": "long long",
    "i32": "long long",
    "i16": "long long",
    "i8": "long long",
    "u8": "long long",
    "bool": "long long",
}


def _store(writer: KernelWriter, step: Step, result: str, uses: Sequence[Value], body: Sequence[str]) -> None:
    value = Value(step.name, step.dtype, tuple(step.shape))
    writer.kernel(value, result, uses, body)
    writer.keep(value)


def _loops(sizes: Sequence[tuple[str, str]], inner: Sequence[str]) -> list[str]:
    """Nested loops over (variable, size) around some lines."""
    lines = [
        f"{'    ' * n}for (long long {name} = 0; {name} < ({size}); {name}++)" for n, (name, size) in enumerate(sizes)
    ]
    indent = "    " * len(sizes)
    return [
        *lines,
        f"{'    ' * max(0, len(sizes) - 1)}{{",
        *(f"{indent}{line}" for line in inner),
        f"{'    ' * max(0, len(sizes) - 1)}}}",
    ]


class _Reduction:
    """The axes of a reduction: loops over them, and the place that is read."""

    def __init__(self, writer: KernelWriter, step: Step, axes: object, *, keeps: bool) -> None:
        self.source = writer.in_memory(writer.operand(step, 0))
        rank = len(self.source.shape)
        named = [] if axes is None else [whole(each) % max(1, rank) for each in items(axes)]
        self.axes = sorted(named or range(rank))
        kept = [n for n in range(rank) if keeps or n not in self.axes]
        self.places = [f"r{n}_" if n in self.axes else f"c{kept.index(n)}_" for n in range(rank)]
        self.loops = [(f"r{n}_", c(self.source.shape[n])) for n in self.axes]
        self.count = " * ".join(f"({c(self.source.shape[n])})" for n in self.axes) or "1"
        self.element = load(self.source, self.places)


def _argument(step: Step, number: int, name: str = "") -> object:
    return step.args[number] if number < len(step.args) else step.keywords.get(name)


def _sum(writer: KernelWriter, step: Step) -> None:
    own = step.op.startswith("prims")
    over = _Reduction(writer, step, _argument(step, 1, "dim"), keeps=not own and _argument(step, 2, "keepdim") is True)
    kind = _WIDE.get(step.dtype, "double")
    body = [f"{kind} sum_ = 0;", *_loops(over.loops, [f"sum_ += ({kind}){over.element};"])]
    result = f"sum_ / ({kind})({over.count})" if ".mean" in f".{step.op}" else "sum_"
    _store(writer, step, result, [over.source], body)


def _prod(writer: KernelWriter, step: Step) -> None:
    over = _Reduction(writer, step, _argument(step, 1, "dim"), keeps=_argument(step, 2, "keepdim") is True)
    kind = _WIDE.get(step.dtype, "double")
    _store(
        writer,
        step,
        "product_",
        [over.source],
        [f"{kind} product_ = 1;", *_loops(over.loops, [f"product_ *= {over.element};"])],
    )


def _any(sign: str, start: str) -> Callable[[KernelWriter, Step], None]:
    def make(writer: KernelWriter, step: Step) -> None:
        over = _Reduction(writer, step, _argument(step, 1, "dim"), keeps=_argument(step, 2, "keepdim") is True)
        body = [f"bool all_ = {start};", *_loops(over.loops, [f"all_ = all_ {sign} ({over.element} != 0);"])]
        _store(writer, step, "all_", [over.source], body)

    return make


def _var(writer: KernelWriter, step: Step) -> None:
    own = step.op.startswith("prims")
    over = _Reduction(writer, step, _argument(step, 1, "dim"), keeps=not own and step.keywords.get("keepdim") is True)
    given = step.keywords.get("correction", _argument(step, 2) if own else None)
    correction = "1" if given is None else (given.size if isinstance(given, Size) else getattr(given, "number", "1"))
    body = [
        "double mean_ = 0;",
        *_loops(over.loops, [f"mean_ += {over.element};"]),
        f"mean_ /= (double)({over.count});",
    ]
    body += [
        "double sum_ = 0;",
        *_loops(over.loops, [f"const double off_ = {over.element} - mean_;", "sum_ += off_ * off_;"]),
    ]
    _store(writer, step, f"sum_ / ((double)({over.count}) - ({c(str(correction))}))", [over.source], body)


def _extreme(sign: str) -> Callable[[KernelWriter, Step], None]:
    def make(writer: KernelWriter, step: Step) -> None:
        own = step.op.startswith("prims")
        over = _Reduction(
            writer, step, _argument(step, 1, "dim"), keeps=not own and _argument(step, 2, "keepdim") is True
        )
        _store(writer, step, "best_", [over.source], _search(over, sign))

    return make


def _search(over: _Reduction, sign: str) -> list[str]:
    """Lines that find the extreme, best_, and its number along the axes, place_: the first of several."""
    number = "0"
    for n in over.axes:
        number = f"({number}) * ({c(over.source.shape[n])}) + r{n}_" if number != "0" else f"r{n}_"
    kind = _WIDE.get(over.source.dtype, "double" if over.source.dtype == "f64" else "float")
    inner = [
        f"const {kind} x_ = {over.element};",
        f"if (place_ < 0 || x_ {sign} best_ || (x_ != x_ && best_ == best_)) {{",
    ]
    inner += ["    best_ = x_;", f"    place_ = {number};", "}"]
    return [f"{kind} best_ = 0;", "long long place_ = -1;", *_loops(over.loops, inner)]


def _place(sign: str) -> Callable[[KernelWriter, Step], None]:
    def make(writer: KernelWriter, step: Step) -> None:
        over = _Reduction(writer, step, _argument(step, 1, "dim"), keeps=_argument(step, 2, "keepdim") is True)
        _store(writer, step, "place_", [over.source], _search(over, sign))

    return make


def _scan(sign: str, start: str) -> Callable[[KernelWriter, Step], None]:
    def make(writer: KernelWriter, step: Step) -> None:
        source = writer.in_memory(writer.operand(step, 0))
        if not source.shape:
            raise NotDrafted("a running sum of a scalar")
        axis = whole(step.args[1]) % len(source.shape)
        places = [f"c{n}_" for n in range(len(source.shape))]
        places[axis] = "j_"
        kind = _WIDE.get(step.dtype, "double")
        loop = [f"for (long long j_ = 0; j_ <= c{axis}_; j_++)", f"    sum_ {sign}= {load(source, places)};"]
        _store(writer, step, "sum_", [source], [f"{kind} sum_ = {start};", *loop])

    return make


def _matrices(writer: KernelWriter, step: Step) -> None:
    one, other = (writer.in_memory(writer.operand(step, n)) for n in (0, 1))
    batch = ["c0_"] if len(one.shape) == 3 else []
    row, column = f"c{len(batch)}_", f"c{len(batch) + 1}_"
    left, right = load(one, [*batch, row, "k_"]), load(other, [*batch, "k_", column])
    body = ["double sum_ = 0;", *_loops([("k_", c(one.shape[-1]))], [f"sum_ += (double){left} * {right};"])]
    _store(writer, step, "sum_", [one, other], body)


def _vectors(writer: KernelWriter, step: Step) -> None:
    one, other = (writer.in_memory(writer.operand(step, n)) for n in (0, 1))
    left = load(one, ["c0_", "k_"] if len(one.shape) == 2 else ["k_"])
    body = [
        "double sum_ = 0;",
        *_loops([("k_", c(one.shape[-1]))], [f"sum_ += (double){left} * {load(other, ['k_'])};"]),
    ]
    _store(writer, step, "sum_", [one, other], body)


def _convolution(writer: KernelWriter, step: Step) -> None:
    source, weight = (writer.in_memory(writer.operand(step, n)) for n in (0, 1))
    bias = writer.in_memory(writer.operand(step, 2)) if isinstance(step.args[2], Ref) else None
    rank = len(source.shape) - 2
    stride, padding, dilation = (_repeated(formulas(step.args[n]), rank) for n in (3, 4, 5))
    transposed, (groups,) = step.args[6] is True, formulas(step.args[8])
    channels_in, channels_out = f"(({c(source.shape[1])}) / ({groups}))", f"(({c(step.shape[1])}) / ({groups}))"
    loops = [("k_", channels_in), *((f"w{n}_", c(weight.shape[n + 2])) for n in range(rank))]
    inner = []
    for n in range(rank):
        at, offset = f"c{n + 2}_", f"w{n}_ * ({dilation[n]})"
        if transposed:
            inner += [
                f"const long long d{n}_ = {at} + ({padding[n]}) - {offset};",
                f"if (d{n}_ < 0 || d{n}_ % ({stride[n]}) != 0)",
                "    continue;",
                f"const long long p{n}_ = d{n}_ / ({stride[n]});",
            ]
        else:
            inner.append(f"const long long p{n}_ = {at} * ({stride[n]}) - ({padding[n]}) + {offset};")
        inner += [f"if (p{n}_ < 0 || p{n}_ >= ({c(source.shape[n + 2])}))", "    continue;"]
    group = f"(c1_ / {channels_out})"
    channel = f"({group} * {channels_in} + k_)"
    window = [f"w{n}_" for n in range(rank)]
    places = [channel, f"(c1_ % {channels_out})"] if transposed else ["c1_", "k_"]
    element = load(source, ["c0_", channel, *(f"p{n}_" for n in range(rank))])
    inner.append(f"sum_ += (double){element} * {load(weight, [*places, *window])};")
    start = load(bias, ["c1_"]) if bias else "0"
    uses = [source, weight, *([bias] if bias else [])]
    _store(writer, step, "sum_", uses, [f"double sum_ = {start};", *_loops(loops, inner)])


def _repeated(numbers: list[str], rank: int) -> list[str]:
    return numbers * rank if len(numbers) == 1 else numbers


class _Window:
    """The window of a pool: loops over it, and lines that find the place in the source or skip it."""

    def __init__(self, step: Step, source: Value, rank: int, dilated: bool) -> None:
        def given(number: int, default: list[str]) -> list[str]:
            found = step.args[number] if number < len(step.args) else None
            numbers = formulas(found) if found is not None else []
            return _repeated(numbers or default, rank)

        self.kernel = given(1, [])
        self.stride = given(2, self.kernel)
        self.padding = given(3, ["0"])
        dilation = given(4, ["1"]) if dilated else ["1"] * rank
        self.spatial = range(len(source.shape) - rank, len(source.shape))
        self.sizes = [c(source.shape[n]) for n in self.spatial]
        self.loops = [(f"w{n}_", size) for n, size in enumerate(self.kernel)]
        self.lines: list[str] = []
        for n, axis in enumerate(self.spatial):
            begin = f"c{axis}_ * ({self.stride[n]}) - ({self.padding[n]})"
            self.lines += [
                f"const long long p{n}_ = {begin} + w{n}_ * ({dilation[n]});",
                f"if (p{n}_ < 0 || p{n}_ >= ({self.sizes[n]}))",
                "    continue;",
            ]
        places = [f"c{n}_" for n in range(self.spatial[0])] + [f"p{n}_" for n in range(rank)]
        self.element = load(source, places)


def _max_pool(writer: KernelWriter, step: Step, part: int, result: Step) -> None:
    source = writer.in_memory(writer.operand(step, 0))
    window = _Window(step, source, 3 if "3d" in step.op else 2, dilated=True)
    number = "p0_"
    for n in range(1, len(window.sizes)):
        number = f"({number}) * ({window.sizes[n]}) + p{n}_"
    inner = [*window.lines, f"const float x_ = {window.element};", "if (place_ < 0 || x_ > best_ || x_ != x_) {"]
    inner += ["    best_ = x_;", f"    place_ = {number};", "}"]
    body = ["float best_ = 0;", "long long place_ = -1;", *_loops(window.loops, inner)]
    _store(writer, result, "place_" if part else "best_", [source], body)


def _average_pool(writer: KernelWriter, step: Step) -> None:
    source = writer.in_memory(writer.operand(step, 0))
    window = _Window(step, source, 3 if "3d" in step.op else 2, dilated=False)
    ceil_mode, padded = _argument(step, 4) is True, _argument(step, 5) is not False
    if ceil_mode:
        raise NotDrafted("an average pool that rounds its size up")
    body = ["double sum_ = 0;", "long long count_ = 0;"]
    body += _loops(window.loops, [*window.lines, f"sum_ += {window.element};", "count_++;"])
    count = " * ".join(f"({each})" for each in window.kernel) if padded else "count_"
    divisor = _argument(step, 6)
    if isinstance(divisor, Size):
        count = c(divisor.size)
    _store(writer, step, f"sum_ / ({count})", [source], body)


def _part(writer: KernelWriter, step: Step) -> None:
    """One of the results of an operation that has several."""
    if not isinstance(step.args[0], Ref):
        raise NotDrafted("a part of something that is not a tensor")
    made, part = writer.step(step.args[0].ref), whole(step.args[1])
    name = made.op.removeprefix("prims.").removeprefix("aten.").split(".")[0]
    if name.startswith("max_pool"):
        return _max_pool(writer, made, part, step)
    if name in ("max", "min"):
        over = _Reduction(writer, made, made.args[1], keeps=_argument(made, 2, "keepdim") is True)
        found = _search(over, ">" if name == "max" else "<")
        return _store(writer, step, "place_" if part else "best_", [over.source], found)
    if name.removesuffix("_copy") in _CUTS:
        return part_of_split(writer, made, name.removesuffix("_copy"), part, step)
    raise NotDrafted(f"no naive kernel is known for {made.op}")


def _later(writer: KernelWriter, step: Step) -> None:
    """An operation with several results: they are computed where they are taken."""
    if step.dtype != "none":
        _extreme(">" if step.op.startswith("max") else "<")(writer, step)


_CUTS = ("split", "split_with_sizes", "unbind")
SUM_OPS: dict[str, Callable[[KernelWriter, Step], None]] = {
    "sum": _sum, "mean": _sum, "prod": _prod, "var": _var, "amax": _extreme(">"), "amin": _extreme("<"),
    "argmax": _place(">"), "argmin": _place("<"), "any": _any("||", "false"), "all": _any("&&", "true"),
    "cumsum": _scan("+", "0"), "cumprod": _scan("*", "1"), "mm": _matrices, "bmm": _matrices, "mv": _vectors,
    "dot": _vectors, "convolution": _convolution, "avg_pool2d": _average_pool, "avg_pool3d": _average_pool,
    "max_pool2d_with_indices": _later, "max_pool3d_with_indices": _later, "max": _later, "min": _later,
    "getitem": _part, **{f"{name}{suffix}": _later for name in _CUTS for suffix in ("", "_copy")},
}  # fmt: skip
