"""Runs a PyTorch module for a reference: what the `reference` and `generate` of an imported problem call.

The text of the module is the upper part of reference.py. `PLAN` there says where its sizes are and which tensor is
which argument of the kernel.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from module_sizes import load

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16,
    "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
}  # fmt: skip


def reference(file: str, plan: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Array]:
    """The outputs of the module for the arrays and scalars of one call, computed in float64 where it can."""
    wide = torch.float64 if plan["precision"] == "float64" else torch.float32
    torch.set_num_threads(2)
    torch.set_default_dtype(wide)
    seed(0)
    model, _ = build(names_of(file, plan, given), plan["mode"])
    model = model.to(wide)
    state = dict(model.named_parameters()) | dict(model.named_buffers())
    with torch.no_grad():
        for path, name in plan["weights"].items():
            state[path].copy_(torch.from_numpy(np.array(given[name])).reshape(state[path].shape))
        arguments = [_argument(entry, given, wide) for entry in plan["inputs"]]
        outputs = flat(model(*arguments))
    return {name: as_array(value) for name, value in zip(plan["outputs"], outputs, strict=True)}


def generate(
    file: str, plan: Mapping[str, Any], rng: np.random.Generator, given: Mapping[str, Any]
) -> dict[str, Array]:
    """The arrays that only the module's own code can make: inputs and buffers."""
    names = names_of(file, plan, given)
    seed(int(rng.integers(1 << 31)))
    inputs = first_inputs(names)
    made = {
        entry["name"]: as_array(value)
        for entry, value in zip(plan["inputs"], inputs, strict=True)
        if entry["name"] in plan["generated"]
    }
    left = [path for path, name in plan["weights"].items() if name in plan["generated"]]
    if left:
        model, _ = build(names, plan["mode"])
        state = dict(model.named_parameters()) | dict(model.named_buffers())
        made |= {plan["weights"][path]: as_array(state[path]) for path in left}
    return {name: array.reshape(array.shape or (1,)) for name, array in made.items()}


def names_of(file: str, plan: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What the module's file defines with the sizes of this case."""
    values = {at: given[size] if isinstance(size, str) else size for at, size in plan["sizes"].items()}
    return load(Path(file).read_text(encoding="utf-8"), values, file)


def first_inputs(names: Mapping[str, Any]) -> list[Any]:
    """What get_inputs gives; the first of several if it yields them."""
    given = names["get_inputs"]()
    if isinstance(given, Iterator):
        given = next(given)
    return list(given) if isinstance(given, list | tuple) else [given]


def build(names: Mapping[str, Any], mode: str) -> tuple[torch.nn.Module, type]:
    """The model with its init inputs, and its class."""
    kind = model_class(names)
    given = names["get_init_inputs"]() if "get_init_inputs" in names else []
    arguments, keywords = list(given), {}
    if len(arguments) == 2 and isinstance(arguments[0], list | tuple) and isinstance(arguments[1], dict):
        arguments, keywords = list(arguments[0]), arguments[1]
    model = kind(*arguments, **keywords)
    model.train(mode == "train")
    return model, kind


def model_class(names: Mapping[str, Any]) -> type:
    """`Model`, or the last class of the file that is a module. Raises LookupError."""
    model = names.get("Model")
    if isinstance(model, type):
        return model
    kinds = [
        each
        for each in names.values()
        if isinstance(each, type) and issubclass(each, torch.nn.Module) and each.__module__ == "module"
    ]
    if not kinds:
        raise LookupError("the file defines no class that is a torch.nn.Module")
    return kinds[-1]


def flat(outputs: Any) -> list[torch.Tensor]:
    """The tensors that forward returned. Raises TypeError for anything else."""
    if isinstance(outputs, torch.Tensor):
        return [outputs]
    if isinstance(outputs, Mapping):
        outputs = list(outputs.values())
    if not isinstance(outputs, Sequence) or not outputs or isinstance(outputs, str):
        raise TypeError(f"forward returns {type(outputs).__name__}, not a tensor")
    return [tensor for output in outputs for tensor in flat(output)]


def as_array(value: Any) -> Array:
    """A tensor or a number as an array that NumPy can hold."""
    tensor = value.detach() if isinstance(value, torch.Tensor) else torch.tensor(value)
    if tensor.dtype in (torch.bfloat16, torch.float16):
        tensor = tensor.double()
    if tensor.dtype == torch.bool:
        tensor = tensor.to(torch.uint8)
    return np.array(tensor.numpy())


def seed(number: int) -> None:
    """Seed all generators that a module may use."""
    torch.manual_seed(number)
    np.random.seed(number & 0x7FFFFFFF)
    random.seed(number)


def _argument(entry: Mapping[str, Any], given: Mapping[str, Any], wide: torch.dtype) -> Any:
    if entry["dtype"] is None:  # a plain number
        kind = {"bool": bool, "int": int, "float": float}.get(entry["plain"])
        return kind(given[entry["name"]]) if kind else None
    value = given[entry["name"]]
    dtype = DTYPES[entry["dtype"]]
    tensor = torch.from_numpy(np.array(value)).to(wide if dtype.is_floating_point else dtype)
    return tensor.reshape(()) if entry["scalar"] else tensor
