"""Operations that move elements: each element of the result is read from one place, or is a constant."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from amdkernel_mcp.importing.inspection import Items, Number, Power, Ref, Size, Step
from amdkernel_mcp.importing.kernel_writer import (
    KernelWriter,
    NotDrafted,
    Value,
    c,
    c_type,
    formulas,
    items,
    load,
    number,
    whole,
)


def _moved(writer: KernelWriter, step: Step, places: Sequence[str]) -> None:
    """The element of the first operand at these coordinates."""
    source = writer.in_memory(writer.operand(step, 0))
    writer.define(step, Value(step.name, step.dtype, tuple(step.shape), load(source, places), (source,)))


def _coordinates(step: Step) -> list[str]:
    return [f"c{n}_" for n in range(len(step.shape))]


def _axis(step: Step, position: int, rank: int) -> int:
    """The axis that an argument names; the first one where it is left out."""
    axis = whole(step.args[position]) if position < len(step.args) else 0
    return axis % max(1, rank)


def _broadcast_in_dim(writer: KernelWriter, step: Step) -> None:
    source, axes = writer.operand(step, 0), [whole(each) for each in items(step.args[2])]
    places = ["0" if size == "1" else f"c{axis}_" for axis, size in zip(axes, source.shape, strict=True)]
    _moved(writer, step, places)


def _expand(writer: KernelWriter, step: Step) -> None:
    source = writer.operand(step, 0)
    more = len(step.shape) - len(source.shape)
    _moved(writer, step, ["0" if size == "1" else f"c{n + more}_" for n, size in enumerate(source.shape)])


def _permute(writer: KernelWriter, step: Step) -> None:
    order = [whole(each) % len(step.shape) for each in items(step.args[1])]
    _moved(writer, step, [f"c{order.index(n)}_" for n in range(len(order))])


def _transpose(writer: KernelWriter, step: Step) -> None:
    if len(step.args) == 2:  # prims.transpose takes an order of axes
        return _permute(writer, step)
    places, rank = _coordinates(step), len(step.shape)
    one, other = (_axis(step, n, rank) for n in (1, 2))
    places[one], places[other] = places[other], places[one]
    return _moved(writer, step, places)


def _t(writer: KernelWriter, step: Step) -> None:
    _moved(writer, step, _coordinates(step)[::-1])


def _reversed(writer: KernelWriter, step: Step) -> None:
    places = _coordinates(step)
    for each in items(step.args[1]):
        axis = whole(each) % len(places)
        places[axis] = f"(({c(step.shape[axis])}) - 1 - c{axis}_)"
    _moved(writer, step, places)


def _slice(writer: KernelWriter, step: Step) -> None:
    places = _coordinates(step)
    axis = _axis(step, 1, len(places))
    size = writer.operand(step, 0).shape[axis]
    start = step.args[2] if len(step.args) > 2 and step.args[2] is not None else Size(size="0")
    stride = step.args[4] if len(step.args) > 4 else Size(size="1")
    (begin,), (by,) = formulas(start), formulas(stride)
    if begin.startswith("-"):
        begin = f"({c(size)}) {begin}"
    places[axis] = f"(({begin}) + c{axis}_ * ({by}))"
    _moved(writer, step, places)


def _prims_slice(writer: KernelWriter, step: Step) -> None:
    if not isinstance(step.args[1], Items):  # aten's slice takes one axis
        return _slice(writer, step)
    starts = formulas(step.args[1])
    strides = formulas(step.args[3]) if len(step.args) > 3 and step.args[3] is not None else ["1"] * len(starts)
    return _moved(
        writer, step, [f"(({a}) + c{n}_ * ({b}))" for n, (a, b) in enumerate(zip(starts, strides, strict=True))]
    )


def _select(writer: KernelWriter, step: Step) -> None:
    source = writer.operand(step, 0)
    axis = _axis(step, 1, len(source.shape))
    (index,) = formulas(step.args[2])
    if index.startswith("-"):
        index = f"({c(source.shape[axis])}) {index}"
    places = _coordinates(step)
    _moved(writer, step, [*places[:axis], f"({index})", *places[axis:]])


def _concatenated(writer: KernelWriter, step: Step) -> None:
    refs = [each for each in items(step.args[0]) if isinstance(each, Ref)]
    parts = [writer.in_memory(writer.value(each.ref)) for each in refs]
    axis = _axis(step, 1, len(step.shape))
    text = ""
    begin: list[str] = []
    for part in parts[:-1]:
        end = [*begin, f"({c(part.shape[axis])})"]
        text += f"c{axis}_ < {' + '.join(end)} ? {_part(step, part, axis, begin)} : "
        begin = end
    text += _part(step, parts[-1], axis, begin)
    writer.define(step, Value(step.name, step.dtype, tuple(step.shape), f"({text})", tuple(dict.fromkeys(parts))))


def _part(step: Step, part: Value, axis: int, begin: Sequence[str]) -> str:
    places = _coordinates(step)
    places[axis] = f"({' - '.join([f'c{axis}_', *begin])})"
    return load(part, places)


def _as_strided(writer: KernelWriter, step: Step) -> None:
    """Elements at their distances in memory; a tensor that lies in order has the distances of its shape."""
    source, strides = writer.in_memory(writer.operand(step, 0)), formulas(step.args[2])
    start = formulas(step.args[3])[0] if len(step.args) > 3 and step.args[3] is not None else "0"
    parts = [f"c{n}_ * ({stride})" for n, stride in enumerate(strides)]
    flat = Value(source.name, source.dtype, ("1",))
    text = load(flat, [f"({' + '.join([*parts, start])})"])
    writer.define(step, Value(step.name, step.dtype, tuple(step.shape), text, (source,)))


def _padded(writer: KernelWriter, step: Step) -> None:
    source = writer.in_memory(writer.operand(step, 0))
    pads = formulas(step.args[1])
    fill = number(step.args[2]) if len(step.args) > 2 and isinstance(step.args[2], Size | Number) else "0"
    places, inside = _coordinates(step), []
    for n in range(len(pads) // 2):
        axis = len(places) - 1 - n
        places[axis] = f"(c{axis}_ - ({pads[2 * n]}))"
        inside.append(f"{places[axis]} >= 0 && {places[axis]} < ({c(source.shape[axis])})")
    text = f"({' && '.join(inside) or '1'} ? {load(source, places)} : ({c_type(step.dtype)})({fill}))"
    writer.define(step, Value(step.name, step.dtype, tuple(step.shape), text, (source,)))


def _full(position: int) -> Callable[[KernelWriter, Step], None]:
    def make(writer: KernelWriter, step: Step) -> None:
        fill = step.args[position]
        if not isinstance(fill, Size | Number | Power | bool):
            raise NotDrafted(f"{step.op} is filled with something other than a number")
        _constant(writer, step, number(fill))

    return make


def _filled(text: str) -> Callable[[KernelWriter, Step], None]:
    return lambda writer, step: _constant(writer, step, text)


def _constant(writer: KernelWriter, step: Step, text: str) -> None:
    value = f"({c_type(step.dtype)})({text})"
    writer.define(step, Value(step.name, step.dtype, tuple(step.shape), value, ()))


def _iota(writer: KernelWriter, step: Step) -> None:
    start, by = (step.keywords.get(name, Size(size=default)) for name, default in (("start", "0"), ("step", "1")))
    (begin,), (stride,) = formulas(start), formulas(by)
    _constant(writer, step, f"({begin}) + c0_ * ({stride})")


def _gather(writer: KernelWriter, step: Step) -> None:
    source, index = writer.in_memory(writer.operand(step, 0)), writer.in_memory(writer.operand(step, 2))
    places = _coordinates(step)
    if not places:
        raise NotDrafted("gather of a scalar")
    places[_axis(step, 1, len(places))] = f"(long long){load(index, _coordinates(step))}"
    writer.define(step, Value(step.name, step.dtype, tuple(step.shape), load(source, places), (source, index)))


def _rows(writer: KernelWriter, step: Step, source: Value, index: Value, axis: int) -> None:
    """Parts of `source` along an axis, by the numbers in `index`; numbers below 0 count from the end."""
    places, rank = _coordinates(step), len(index.shape)
    at = load(index, places[axis : axis + rank])
    row = f"((long long){at} < 0 ? (long long){at} + ({c(source.shape[axis])}) : (long long){at})"
    text = load(source, [*places[:axis], row, *places[axis + rank :]])
    writer.define(step, Value(step.name, step.dtype, tuple(step.shape), text, (source, index)))


def _embedding(writer: KernelWriter, step: Step) -> None:
    _rows(writer, step, writer.in_memory(writer.operand(step, 0)), writer.in_memory(writer.operand(step, 1)), 0)


def _index_select(writer: KernelWriter, step: Step) -> None:
    source = writer.in_memory(writer.operand(step, 0))
    index = writer.in_memory(writer.operand(step, 2))
    _rows(writer, step, source, index, _axis(step, 1, len(source.shape)))


def _index(writer: KernelWriter, step: Step) -> None:
    given = items(step.args[1])
    refs = [(axis, each) for axis, each in enumerate(given) if isinstance(each, Ref)]
    axes = [axis for axis, _ in refs]
    if not axes or axes != list(range(axes[0], axes[0] + len(axes))):
        raise NotDrafted("it indexes axes that are apart")
    source = writer.in_memory(writer.operand(step, 0))
    indices = [writer.in_memory(writer.value(ref.ref)) for _, ref in refs]
    if any(each.dtype == "bool" for each in indices):
        raise NotDrafted("it indexes with a mask")
    rank = max(len(each.shape) for each in indices)
    places, first = _coordinates(step), axes[0]
    rows = []
    for axis, index in zip(axes, indices, strict=True):
        begin = first + rank - len(index.shape)
        at = [f"c{begin + n}_" if size != "1" else "0" for n, size in enumerate(index.shape)]
        row = f"(long long){load(index, at)}"
        rows.append(f"({row} < 0 ? {row} + ({c(source.shape[axis])}) : {row})")
    text = load(source, [*places[:first], *rows, *places[first + rank :]])
    writer.define(step, Value(step.name, step.dtype, tuple(step.shape), text, (source, *dict.fromkeys(indices))))


def part_of_split(writer: KernelWriter, step: Step, name: str, part: int, result: Step) -> None:
    """One of the parts into which an operation cuts a tensor."""
    source = writer.in_memory(writer.operand(step, 0))
    places = _coordinates(result)
    if name == "unbind":
        axis = _axis(step, 1, len(source.shape))
        places.insert(axis, str(part))
    else:
        axis = _axis(step, 2, len(source.shape))
        sizes = formulas(step.args[1])
        begin = (
            f"{part} * ({sizes[0]})" if name == "split" else " + ".join(["0", *(f"({each})" for each in sizes[:part])])
        )
        places[axis] = f"({begin} + c{axis}_)"
    text = load(source, places)
    writer.define(result, Value(result.name, result.dtype, tuple(result.shape), text, (source,)))


INDEX_OPS: dict[str, Callable[[KernelWriter, Step], None]] = {
    "broadcast_in_dim": _broadcast_in_dim, "expand": _expand, "expand_copy": _expand,
    "copy": _expand, "copy_to": _expand,
    "permute": _permute, "permute_copy": _permute, "transpose": _transpose, "transpose_copy": _transpose,
    "t": _t, "t_copy": _t, "rev": _reversed, "flip": _reversed, "slice": _prims_slice, "slice_copy": _slice,
    "select": _select, "select_copy": _select, "cat": _concatenated, "constant_pad_nd": _padded,
    "as_strided": _as_strided, "as_strided_copy": _as_strided,
    "full": _full(1), "full_like": _full(1), "scalar_tensor": _full(0), "constant": _full(0),
    "zeros": _filled("0"), "zeros_like": _filled("0"), "ones": _filled("1"), "ones_like": _filled("1"),
    "empty": _filled("0"), "empty_like": _filled("0"), "empty_strided": _filled("0"), "iota": _iota,
    "gather": _gather, "embedding": _embedding, "index_select": _index_select, "index": _index,
}  # fmt: skip
