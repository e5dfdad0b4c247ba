"""A GPU-MODE task as a module: `generate_input` makes the inputs, `ref_kernel` is forward.

The text of an imported task calls `provide` before reference.py's own text and `as_module` after it.
"""

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import no_gpu
import torch

_STAND_INS = ("task", "utils")  # what reference.py imports from them is not needed here


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the task's other files, and stand-ins for those that are missing."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name in self._files or name in _STAND_INS:
            return importlib.machinery.ModuleSpec(name, self)
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        name = module.__name__
        if name in self._files:
            exec(compile(self._files[name], f"<{name}>", "exec"), module.__dict__)
        else:
            module.__dict__["__getattr__"] = _stand_in


def _stand_in(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return lambda *_, **__: None


def provide(files: Mapping[str, str]) -> None:
    """Make the task's other files importable, by module name."""
    no_gpu.install()
    for name in (*files, *_STAND_INS):
        sys.modules.pop(name, None)
    sys.meta_path[:] = [each for each in sys.meta_path if not isinstance(each, _Finder)]
    sys.meta_path.insert(0, _Finder(files))


def as_module(
    case: Callable[[int], Any], reference: Callable[[Any], Any], names: Sequence[str], hidden: Sequence[int] = ()
) -> tuple[Callable[[], list[Any]], type]:
    """`get_inputs` and `Model` of a task. `case`: the data for a seed. `hidden`: tensors that no output depends on."""

    def get_inputs() -> list[Any]:
        seed = int(torch.randint(1 << 31, (), device="cpu"))
        return [each for n, each in enumerate(tensors_in(case(seed))) if n not in hidden]

    class Model(torch.nn.Module):  # type: ignore[misc]  # torch has no types here
        argument_names = tuple(name for n, name in enumerate(names) if n not in hidden)

        def forward(self, *given: torch.Tensor) -> Any:
            left = iter(given)
            data = case(0)
            count = len(tensors_in(data))
            own = iter(tensors_in(data))
            new = [next(own) if n in hidden else (next(own), next(left))[1] for n in range(count)]
            return reference(_replaced(data, iter(new)))

    return get_inputs, Model


def tensors_in(data: Any) -> list[torch.Tensor]:
    """The tensors of nested tuples, lists and dicts, in order."""
    if isinstance(data, torch.Tensor):
        return [data]
    parts = data.values() if isinstance(data, Mapping) else data if isinstance(data, list | tuple) else ()
    return [tensor for part in parts for tensor in tensors_in(part)]


def _replaced(data: Any, new: Any) -> Any:
    if isinstance(data, torch.Tensor):
        return next(new)
    if isinstance(data, Mapping):
        return {name: _replaced(part, new) for name, part in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(_replaced(part, new) for part in data))
    if isinstance(data, list | tuple):
        return type(data)(_replaced(part, new) for part in data)
    return data
