"""Looks at a module with chosen sizes: what goes in, what it holds, what comes out; on the meta device, so that no
size costs memory."""

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from module_sizes import Position, load, prepare
from torch_module import DTYPES, build, first_inputs, flat, seed

NAMES = {dtype: name for name, dtype in DTYPES.items()}


class NotImported(Exception):
    """Why a module cannot become a problem: a code, and a sentence without its end."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Tensor:
    """What is known of one tensor. `init`: the init of a problem that fills it, where one does."""

    dtype: str
    shape: tuple[int, ...]
    init: str | None = None
    bounds: tuple[int, int] | None = None  # of whole numbers


@dataclass(frozen=True)
class Look:
    """A module with certain sizes. An input that is not a tensor is a plain number."""

    names: tuple[str, ...]
    inputs: tuple[Tensor | float | int | bool | None, ...]
    weights: Mapping[str, Tensor]
    outputs: tuple[Tensor, ...]
    flops: int
    parameters: frozenset[str] = frozenset()

    @property
    def elements(self) -> int:
        """Of all tensors together."""
        tensors = [each for each in self.inputs if isinstance(each, Tensor)]
        return sum(torch.Size(each.shape).numel() for each in (*tensors, *self.weights.values(), *self.outputs))

    def numbers(self) -> list[int]:
        """Every whole number that may depend on sizes, in a fixed order."""
        tensors = [each for each in (*self.inputs, *self.weights.values(), *self.outputs) if isinstance(each, Tensor)]
        return [n for each in tensors for n in (*each.shape, *(each.bounds or ()))]

    def input_sizes(self) -> list[tuple[int, ...]]:
        """The shapes of the inputs."""
        return [each.shape for each in self.inputs if isinstance(each, Tensor)]

    def form(self) -> object:
        """What must not change with the sizes."""
        return [
            (each.dtype, len(each.shape), each.init, each.bounds is None) if isinstance(each, Tensor) else each
            for each in (*self.inputs, *self.weights.values(), *self.outputs)
        ]


@dataclass
class Drawn:
    """The tensors that the random functions of torch made, by identity, with the init that means the same."""

    made: dict[int, tuple[torch.Tensor, str, tuple[int, int] | None]] = field(default_factory=dict)

    def init_of(self, tensor: torch.Tensor) -> tuple[str | None, tuple[int, int] | None]:
        """The init of a tensor that is as the function left it."""
        found = self.made.get(id(tensor))
        return found[1:] if found and found[0] is tensor and tensor._version == 0 else (None, None)


@contextlib.contextmanager
def watched() -> Iterator[Drawn]:
    """torch.rand, randn and so on, noting what they make."""
    drawn = Drawn()
    kept = {name: getattr(torch, name) for name in ("rand", "randn", "randint", "rand_like", "randn_like")}

    def noting(function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            result = function(*arguments, **keywords)
            if name == "randint":
                ends = [each for each in (*arguments, keywords.get("low"), keywords.get("high")) if type(each) is int]
                bounds = (0, ends[0]) if len(ends) == 1 else (ends[0], ends[1])
                drawn.made[id(result)] = (result, "integers", bounds)
            else:
                init = "uniform(0, 1)" if name.startswith("rand") and "n" not in name[4:5] else "normal"
                drawn.made[id(result)] = (result, init, None)
            return result

        return call

    try:
        for name, function in kept.items():
            setattr(torch, name, noting(function, name))
        yield drawn
    finally:
        for name, function in kept.items():
            setattr(torch, name, function)


def look(text: str, values: Mapping[Position, int], mode: str, device: str = "meta") -> Look:
    """The module with these sizes. Raises what its code raises, NotImported."""
    seed(0)
    prepare(text)  # before the functions are watched, which restores those that it found
    with torch.device(device), torch.no_grad():
        torch.empty(0)  # torch notes its factories at the first call, and must find its own
        with watched() as drawn:
            return _look(text, values, mode, drawn)


def _look(text: str, values: Mapping[Position, int], mode: str, drawn: Drawn) -> Look:
    from torch.utils.flop_counter import FlopCounterMode

    names = load(text, values, "<module>")
    if "get_inputs" not in names:
        raise NotImported("form", "the file defines no get_inputs()")
    given = first_inputs(names)
    inputs = tuple(_input(each, drawn) for each in given)
    model, kind = build(names, mode)
    parameters = dict(model.named_parameters())
    weights = {
        path: _tensor(tensor, path)
        for path, tensor in (parameters | dict(model.named_buffers())).items()
        if tensor.numel() and not path.endswith("num_batches_tracked")
    }
    with FlopCounterMode(display=False) as counter:
        result = model(*given)
    outputs = tuple(_tensor(each, "an output") for each in flat(result))
    flops = int(counter.get_total_flops())
    return Look(argument_names(kind, len(given)), inputs, weights, outputs, flops, frozenset(parameters))


def argument_names(kind: type, count: int) -> tuple[str, ...]:
    """The names of forward's parameters, after `self`."""
    known = getattr(kind, "argument_names", ())
    if len(known) >= count:
        return tuple(known[:count])
    found = [
        each.name
        for each in inspect.signature(getattr(kind, "forward", kind)).parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ][1:]
    return tuple([*found, *(f"input_{number}" for number in range(len(found), count))][:count])


def _input(value: Any, drawn: Drawn) -> Tensor | float | int | bool | None:
    if isinstance(value, torch.Tensor):
        tensor = _tensor(value, "an input")
        init, bounds = drawn.init_of(value)
        return Tensor(tensor.dtype, tensor.shape, init, bounds)
    if value is None or isinstance(value, bool | int | float):
        return value
    raise NotImported("input", f"get_inputs() returns a {type(value).__name__}; a kernel takes tensors and numbers")


def _tensor(tensor: torch.Tensor, what: str) -> Tensor:
    if tensor.dtype not in NAMES:
        raise NotImported("dtype", f"{what} has the dtype {str(tensor.dtype).removeprefix('torch.')}")
    if tensor.layout is not torch.strided:
        raise NotImported("dtype", f"{what} is a sparse tensor")
    if tensor.dim() > 8:
        raise NotImported("shape", f"{what} has {tensor.dim()} dimensions, more than 8")
    return Tensor(NAMES[tensor.dtype], tuple(tensor.shape))
