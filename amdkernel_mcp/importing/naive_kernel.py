"""A naive kernel from the traced operations of a module: a launch for each, with a thread for each element.

It is a start to optimise from, not a fast kernel. Sums are taken in double, everything else in the type of the tensor.
"""

from __future__ import annotations

from amdkernel_mcp.importing.index_ops import INDEX_OPS
from amdkernel_mcp.importing.inspection import Inspection, Step
from amdkernel_mcp.importing.kernel_writer import KernelWriter, NotDrafted
from amdkernel_mcp.importing.pointwise import is_pointwise
from amdkernel_mcp.importing.sum_ops import SUM_OPS
from amdkernel_mcp.problems.problem import Problem

_SAME_ORDER = frozenset((
    "view", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "clone", "alias", "detach", "split_dim", "collapse_view",
    "collapse", "contiguous", "view_of", "lift_fresh", "lift_fresh_copy", "unsqueeze_copy", "squeeze_copy", "view_copy",
    "detach_copy", "alias_copy",
))  # fmt: skip


def naive_kernel(problem: Problem, found: Inspection) -> tuple[str | None, str | None]:
    """The text of the kernel, or why there is none, as a sentence without its end."""
    if found.graph is None:
        return None, found.graph_error
    writer = KernelWriter(problem, found)
    try:
        for step in found.graph:
            _write(writer, step)
        for output, result in zip(found.outputs, found.results, strict=True):
            writer.copy_out(output.name, writer.value(result))
    except NotDrafted as error:
        return None, str(error)
    except (ValueError, IndexError, KeyError, AttributeError) as error:  # steps that no tracer of ours writes
        return None, f"its operations are not what they should be: {type(error).__name__}"
    return writer.text(), None


def _write(writer: KernelWriter, step: Step) -> None:
    op = short_name(step.op)
    if op in _SAME_ORDER:
        writer.alias(step)
    elif is_pointwise(op):
        writer.pointwise(step, op)
    elif op in INDEX_OPS:
        INDEX_OPS[op](writer, step)
    elif op in SUM_OPS:
        SUM_OPS[op](writer, step)
    else:
        raise NotDrafted(f"no naive kernel is known for {step.op}")


def short_name(op: str) -> str:
    """`add` of `add.Tensor` and of `prims.add.default`."""
    parts = op.split(".")
    return parts[1] if parts[0] in ("prims", "aten") and len(parts) > 1 else parts[0]
