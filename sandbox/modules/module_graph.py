"""Traces a module to a list of simple operations, whose whole numbers are formulas of the free sizes.

The module is traced with several sizes. The operations must be the same ones each time; the numbers in them are fitted.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from module_fit import fit
from module_numerics import Numerics
from module_probe import NAMES
from module_search import Found
from module_sizes import load, unique
from torch.fx.experimental.proxy_tensor import make_fx
from torch_module import build, first_inputs, flat, seed

_MOST_STEPS = 300
_FEW_STEPS, _MANY_STEPS = (-1, 1, 2, 3, 4), (-2, -1, *range(1, 13))
_EXPONENTS = (1.0, -1.0, 0.5, -0.5, 0.25, -0.25, 2.0, -2.0)  # of sizes in factors: 1 / n, 1 / sqrt(n)
# What naive kernels do in one step, although torch can split it further.
_KEPT = (
    "cumsum",
    "cumprod",
    "mm",
    "bmm",
    "convolution",
    "max_pool",
    "avg_pool",
    "_adaptive",
    "embedding",
    "amax",
    "amin",
    "sum",
)


class NotTraced(Exception):
    """Why there is no list of operations, as a sentence without its end."""


def trace(text: str, mode: str, found: Found, numerics: Numerics, answer: Mapping[str, Any]) -> dict[str, Any]:
    """`graph` and `results`, or `graph_error`."""
    try:
        steps, results = _Trace(text, mode, numerics, answer).fitted(found)
    except NotTraced as error:
        return {"graph": None, "graph_error": str(error)[:500]}
    except Exception as error:  # the tracer meets code of any kind
        return {"graph": None, "graph_error": f"tracing failed: {type(error).__name__}: {error}"[:500]}
    return {"graph": steps, "results": results}


class NoFormula(NotTraced):
    """The numbers of some samples follow no formula; more samples may show one."""


class _Trace:
    def __init__(self, text: str, mode: str, numerics: Numerics, answer: Mapping[str, Any]) -> None:
        self._text, self._mode, self._numerics, self._answer = text, mode, numerics, answer
        kept = {each["name"] for part in ("inputs", "weights", "outputs", "sizes") for each in answer.get(part, ())}
        self._taken = kept

    def fitted(self, found: Found) -> tuple[list[dict[str, Any]], list[str]]:
        """The steps of the base with formulas in place of numbers."""
        # Sizes that differ from each other and from other numbers: at 8 channels in 8 groups torch leaves steps out.
        base = {each.name: each.value + (3 + n) * each.multiple for n, each in enumerate(found.free)}
        try:
            return self._with_samples(found, base, _FEW_STEPS)
        except NoFormula:
            return self._with_samples(found, base, _MANY_STEPS)

    def _with_samples(
        self, found: Found, base: Mapping[str, int], near: Sequence[int]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        choices = [dict(base)]
        for group in found.free:
            others = [base[group.name] + n * group.multiple for n in near] + [2 * base[group.name]]
            choices += [{**base, group.name: at} for at in others if at > 2]
        steps, results, numbers = self._one(found, base)
        samples = [(base, numbers)]
        form = _form(steps)
        for sizes in choices[1:]:
            other, other_results, other_numbers = self._one(found, sizes)
            if _form(other) != form or other_results != results:
                listed = ", ".join(f"{name}={size}" for name, size in sizes.items())
                raise NotTraced(f"the operations change with the sizes ({listed})")
            samples.append((sizes, other_numbers))
        formulas = [_formula([(sizes, row[n]) for sizes, row in samples], base) for n in range(len(numbers))]
        remaining = iter(formulas)
        return [_replaced(step, remaining) for step in steps], results

    def _one(self, found: Found, sizes: Mapping[str, int]) -> tuple[list[dict[str, Any]], list[str], list[int | float]]:
        graph, places = self._traced(found, sizes)
        return _Steps(graph, places, set(self._taken)).read()

    def _traced(self, found: Found, sizes: Mapping[str, int]) -> tuple[torch.fx.GraphModule, list[str | None]]:
        seed(1)
        names = load(self._text, found.values(sizes), "<module>")
        arguments = first_inputs(names)
        model, _ = build(names, self._mode)
        state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
        paths = list(state)
        tensors = [each for each in arguments if isinstance(each, torch.Tensor)]

        def run(*given: torch.Tensor) -> list[torch.Tensor]:
            left = iter(given[: len(tensors)])
            filled = [next(left) if isinstance(each, torch.Tensor) else each for each in arguments]
            weights = dict(zip(paths, given[len(tensors) :], strict=True))
            return flat(torch.func.functional_call(model, weights, tuple(filled)))

        weights = [tensor.detach().clone() for tensor in state.values()]
        with torch.no_grad():
            graph = make_fx(torch.func.functionalize(run, remove="mutations_and_views"), decomposition_table=_table())(
                *tensors, *weights
            )
        named = {each["path"]: each["name"] for each in self._answer["weights"]}
        places: list[str | None] = [each["name"] for each in self._answer["inputs"] if "shape" in each]
        return graph, places + [named.get(path) for path in paths]


def _table() -> Mapping[Any, Callable[..., Any]]:
    from torch._decomp import decomposition_table

    def keeps(name: str) -> bool:
        short = name.removeprefix("aten::").split(".")[0]
        return short in _KEPT or any(
            short.startswith(each) for each in _KEPT if each.startswith(("max_pool", "avg_pool", "_adap"))
        )

    return {op: function for op, function in decomposition_table.items() if not keeps(str(getattr(op, "_name", op)))}


class _Steps:
    """The operations of a graph that its results need."""

    def __init__(self, graph: torch.fx.GraphModule, places: list[str | None], taken: set[str]) -> None:
        self._graph, self._places, self._taken = graph, iter(places), taken
        self._names: dict[torch.fx.Node, str | None] = {}

    def read(self) -> tuple[list[dict[str, Any]], list[str], list[int | float]]:
        nodes = list(self._graph.graph.nodes)
        output = next(node for node in nodes if node.op == "output")
        needed = set(output.all_input_nodes)
        for node in reversed(nodes):
            if _is_copy(node):
                node.args = node.args[1:2]  # the old content does not matter
            if node in needed:
                needed.update(node.all_input_nodes)
        steps: list[dict[str, Any]] = []
        for node in nodes:
            if node.op == "placeholder":
                self._names[node] = next(self._places)
            elif node in needed:
                self._names[node] = unique(f"t{len(steps)}", self._taken)
                steps.append(self._step(node))
        if len(steps) > _MOST_STEPS:
            raise NotTraced(f"it has {len(steps)} operations")
        results = [self._name(node) for node in output.args[0]]
        numbers: list[int | float] = []
        return [_collected(step, numbers) for step in steps], results, numbers

    def _name(self, node: torch.fx.Node) -> str:
        name = self._names.get(node)
        if name is None:
            raise NotTraced("it uses a tensor that is not an input of the kernel")
        return name

    def _step(self, node: torch.fx.Node) -> dict[str, Any]:
        if node.op == "get_attr":
            return self._constant(node)
        if node.op != "call_function":
            raise NotTraced(f"it has the operation {node.target}")
        tensor = node.meta.get("val", node.meta.get("tensor_meta"))
        target = str(node.target).removeprefix("aten.")
        op = "getitem" if "getitem" in target else target
        known = hasattr(tensor, "dtype") and hasattr(tensor, "shape")
        if known and tensor.dtype not in NAMES:
            raise NotTraced(f"it computes in {tensor.dtype}")
        return {
            "op": op, "name": self._name(node), "dtype": NAMES[tensor.dtype] if known else "none",
            "shape": list(tensor.shape) if known else [],
            "args": [self._argument(each) for each in node.args],
            "keywords": {name: self._argument(each) for name, each in node.kwargs.items()},
        }  # fmt: skip

    def _constant(self, node: torch.fx.Node) -> dict[str, Any]:
        tensor = getattr(self._graph, str(node.target))
        if not isinstance(tensor, torch.Tensor) or tensor.numel() != 1 or tensor.dtype not in NAMES:
            raise NotTraced("it holds a constant tensor")
        return {
            "op": "constant", "name": self._name(node), "dtype": NAMES[tensor.dtype], "shape": list(tensor.shape),
            "args": [{"number": repr(float(tensor))}], "keywords": {},
        }  # fmt: skip

    def _argument(self, value: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            return {"ref": self._name(value)}
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return {"size": value}
        if isinstance(value, float):
            return {"number": repr(value)}
        if isinstance(value, torch.dtype):
            return NAMES.get(value, "other")
        if isinstance(value, list | tuple):
            return {"items": [self._argument(each) for each in value]}
        return str(value)[:100]


def _is_copy(node: torch.fx.Node) -> bool:
    return node.op == "call_function" and str(node.target).startswith(("aten.copy.", "prims.copy_to."))


def _formula(samples: list[tuple[Mapping[str, int], int | float]], base: Mapping[str, int]) -> dict[str, str]:
    """The argument that stands for a number in all samples. Raises NotTraced."""
    first = samples[0][1]
    if isinstance(first, float):
        if all(repr(number) == repr(first) for _, number in samples):  # NaN is a number here
            return {"number": repr(first)}
        for exponent in _EXPONENTS:
            powers = [(sizes, _whole(float(number), exponent)) for sizes, number in samples]
            whole = [(sizes, number) for sizes, number in powers if number is not None]
            if len(whole) == len(samples) and (found := fit(whole, base)) is not None:
                return {"power": found, "exponent": repr(exponent)}
    elif (found := fit([(sizes, int(number)) for sizes, number in samples], base)) is not None:
        return {"size": found}
    raise NoFormula("a number in its operations has no formula")


def _whole(number: float, exponent: float) -> int | None:
    """The whole number whose power it is."""
    if not 0 < number < 1e100:  # not a number either
        return None
    root = number ** (1 / exponent)
    near = round(root)
    return near if abs(root - near) <= 1e-9 * root else None


def _collected(step: dict[str, Any], numbers: list[int | float]) -> dict[str, Any]:
    """The step, its whole numbers added to `numbers` in the order in which `_replaced` meets them."""

    def visit(value: Any) -> None:
        if isinstance(value, dict) and "size" in value:
            numbers.append(value["size"])
        elif isinstance(value, dict) and "number" in value:
            numbers.append(float(value["number"]))
        elif isinstance(value, dict) and "items" in value:
            for each in value["items"]:
                visit(each)

    numbers += step["shape"]
    for each in (*step["args"], *step["keywords"].values()):
        visit(each)
    return step


def _replaced(step: dict[str, Any], formulas: Any) -> dict[str, Any]:
    def visit(value: Any) -> Any:
        if isinstance(value, dict) and ("size" in value or "number" in value):
            return next(formulas)
        if isinstance(value, dict) and "items" in value:
            return {"items": [visit(each) for each in value["items"]]}
        return value

    shape = [next(formulas)["size"] for _ in step["shape"]]
    args = [visit(each) for each in step["args"]]
    return {
        **step,
        "shape": shape,
        "args": args,
        "keywords": {name: visit(each) for name, each in step["keywords"].items()},
    }


def _form(steps: list[dict[str, Any]]) -> object:
    """What must not change with the sizes."""

    def visit(value: Any) -> object:
        if isinstance(value, dict) and "size" in value:
            return "size"
        if isinstance(value, dict) and "number" in value:
            return "number"
        if isinstance(value, dict) and "items" in value:
            return [visit(each) for each in value["items"]]
        return str(value)

    return [
        (step["op"], step["name"], step["dtype"], len(step["shape"]), [visit(each) for each in step["args"]],
         {name: visit(each) for name, each in step["keywords"].items()})
        for step in steps
    ]  # fmt: skip
