"""How a program gets its inputs and leaves its outputs.

Its command line has the problem's arguments in their order: for an array the path of a file, for a scalar its value.
A file has the bytes of the array in C order, little-endian, without a header. The program writes the file of each `out`
array, and writes that of each `inout` array again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from amdkernel_mcp.checking.cases.inputs import scalars_for_reference

if TYPE_CHECKING:
    from amdkernel_mcp.checking.cases.call import Call
    from amdkernel_mcp.problems.problem import Argument, Case, Problem


def file_of(argument: Argument) -> str:
    """The name of an array's file, next to the program."""
    return f"{argument.name}.bin"


def words_of(problem: Problem, case: Case) -> list[str]:
    """The program's command line; floats have all their digits."""
    scalars = scalars_for_reference(problem, case)
    return [
        repr(scalars[argument.name]) if argument.role == "scalar" else file_of(argument)
        for argument in problem.arguments
    ]


def input_files(problem: Problem, call: Call) -> dict[str, bytes]:
    """The files that lie next to the program when it starts."""
    return {file_of(argument): call.inputs[argument.name].tobytes() for argument in problem.inputs}


def outputs_in(problem: Problem, call: Call, files: Mapping[str, bytes]) -> dict[str, bytes] | str:
    """The bytes of each output; or a sentence about the first that is missing or has another size."""
    outputs = {}
    for argument in problem.outputs:
        content = files.get(file_of(argument))
        if content is None and argument.role == "inout":  # not written again: it stays as it was
            content = call.inputs[argument.name].tobytes()
        if content is None:
            return f"it ended without writing {file_of(argument)}"
        wanted = math.prod(call.case.shape_of(argument)) * argument.dtype.bytes
        if len(content) != wanted:
            return f"it wrote {len(content)} bytes to {file_of(argument)}, not {wanted}"
        outputs[argument.name] = content
    return outputs
