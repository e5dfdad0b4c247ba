"""Compiles the @flyc.jit host function of a candidate in FlyDSL ahead of time: no GPU, no torch; nothing is launched.

Runs in the sandbox, because importing the candidate runs code of others. A job in JSON says what to compile:
  function:  the host function, or a function that makes it from `values`
  arguments: of the host function, in order: {"dtype": "f32", "rank": 2} of an array, {"value": 1} of a scalar
  values:    {NAME: text} of `Constexpr` parameters, and of those of a function that makes the host function
  used:      names of `values` that the launch plan uses itself
Leaves linked.co, needs.json and toolchain; prints messages as a C compiler does, and exits with 1 after an error.
needs.json says for each kernel what its launch needs. The host function is traced with every size unknown, so its grid
and what it hands to the kernel are operations on its arguments: these are read before the module is lowered.
"""

import ast
import inspect
import json
import re
import sys
import traceback
from pathlib import Path
from types import FunctionType, ModuleType

from candidate_module import FILE, HostOnly, Wrong, run_candidate, say

_MISSING = "no_flydsl"
_PLACE = re.compile(r'(?:error: )?(?:loc\()?"[^"\n]*kernel\.py":(\d+):(\d+)\)?: ?')
# Of operands that are known whole when the kernel is compiled, so that nothing is handed over: a `?` would be a size.
_STATIC = re.compile(r"!fly\.(?:tiled_copy|tiled_mma|copy_atom|mma_atom|layout|tile|int_tuple)<[^?]*$")
_SIGNS = {
    "arith.addi": "+",
    "arith.subi": "-",
    "arith.muli": "*",
    **dict.fromkeys(("arith.floordivsi", "arith.divsi", "arith.divui"), "//"),
    **dict.fromkeys(("arith.remsi", "arith.remui"), "%"),
}
_FUNCTIONS = {
    **dict.fromkeys(("arith.ceildivsi", "arith.ceildivui"), "ceil_div"),
    **dict.fromkeys(("arith.maxsi", "arith.maxui"), "max"),
    **dict.fromkeys(("arith.minsi", "arith.minui"), "min"),
}
_SAME = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci")


def main() -> int:
    sys.meta_path.insert(0, HostOnly())
    try:
        import flydsl
        import flydsl.compiler
    except ImportError:
        Path("toolchain").write_text(_MISSING)
        return 3
    Path("toolchain").write_text(f"FlyDSL {flydsl.__version__}")
    job = json.loads(Path("job.json").read_text())
    try:
        code_object, needs = build(job)
    except Wrong as error:
        say("error", str(error), error.line, error.column)
        return 1
    Path("linked.co").write_bytes(code_object)
    Path("needs.json").write_text(json.dumps(needs))
    return 0


def build(job: dict) -> tuple[bytes, dict]:
    """The code object, and what the launch of its kernel needs."""
    name = job["function"]
    if not name:
        raise Wrong("no host function is named: add `# amdkernel: launch NAME`, with types=[..] to compile alone")
    function = host_function(name, job)
    given, positions = arguments(function, name, job)
    try:
        function._compile_only(**given)
    except Exception as error:
        raise told(error, name, line_of(function)) from None
    artifact = function._last_compiled[1]
    return read_module(artifact, positions, job["arguments"], name, line_of(function))


def host_function(name: str, job: dict):
    """The JIT function of this name, or the one that the function of this name makes from the constants."""
    from flydsl.compiler.jit_function import JitFunction

    module = ModuleType("kernel")
    module.__file__ = FILE
    sys.modules["kernel"] = module
    failed = run_candidate(module)
    found = vars(module).get(name)
    used = set(job["used"])
    if isinstance(found, FunctionType):
        parameters = inspect.signature(found).parameters
        used |= set(parameters)
        try:
            found = found(**{key: read(text) for key, text in job["values"].items() if key in parameters})
        except Exception as error:
            raise told(error, name, found.__code__.co_firstlineno) from None
        if not isinstance(found, JitFunction):
            raise Wrong(f"{name} is neither a @flyc.jit function nor returns one")
    if not isinstance(found, JitFunction):
        if failed:
            raise next((error for error in failed if error.defines == name), failed[0])
        known = ", ".join(key for key, value in vars(module).items() if isinstance(value, JitFunction)) or "none"
        raise Wrong(f"the file has no @flyc.jit function {name!r} (functions: {known})")
    for error in failed[:3]:
        say("warning", f"this statement was skipped: {error}", error.line)
    found._ensure_sig()
    for key in job["values"]:
        if key not in found._sig.parameters and key not in used:
            say("warning", f"{key} is not a parameter of {name}")
    return found


def line_of(function) -> int:
    return int(inspect.unwrap(function.func).__code__.co_firstlineno)


def arguments(function, name: str, job: dict) -> tuple[dict, list[int]]:
    """What the host function is traced with, and for each of its run-time parameters the position in the plan."""
    from flydsl.compiler.jit_argument import is_type_param_annotation
    from flydsl.expr.typing import Constexpr, Stream

    given, run_time = {}, []
    for parameter in function._sig.parameters.values():
        annotation = parameter.annotation
        if annotation is Stream:
            given[parameter.name] = Stream(None)
        elif Constexpr.is_constexpr_annotation(annotation) or is_type_param_annotation(annotation):
            if parameter.name in job["values"]:
                given[parameter.name] = read(job["values"][parameter.name])
            elif parameter.default is inspect.Parameter.empty:
                lack = f"the constant {parameter.name} of {name} has no value: add `# amdkernel: constexpr "
                raise Wrong(f"{lack}{parameter.name}=..`", line_of(function))
        else:
            run_time.append(parameter)
            given[parameter.name] = None
    if len(run_time) != len(job["arguments"]):
        names = ", ".join(parameter.name for parameter in run_time)
        count = len(job["arguments"])
        raise Wrong(
            f"{name} takes {len(run_time)} arguments at run time ({names}), the plan gives {count}", line_of(function)
        )
    for parameter, how in zip(run_time, job["arguments"], strict=True):
        given[parameter.name] = stand_for(how, parameter.annotation)
    return given, list(range(len(run_time)))


def stand_for(how: dict, annotation: object) -> object:
    """An argument whose value or sizes are not known yet."""
    from flydsl._mlir import ir
    from flydsl._mlir.extras import types as T
    from flydsl.compiler.jit_argument import JitArgumentRegistry, MemRefJitArg, PointerJitArg
    from flydsl.expr.typing import Pointer, Tensor

    if "value" in how:
        return how["value"]
    kinds = {
        "f16": T.f16,
        "bf16": T.bf16,
        "f32": T.f32,
        "f64": T.f64,
        "float8_e4m3fn": ir.Float8E4M3FNType.get,
        "float8_e4m3fnuz": ir.Float8E4M3FNUZType.get,
        "float8_e5m2": ir.Float8E5M2Type.get,
        "float8_e5m2fnuz": ir.Float8E5M2FNUZType.get,
    }
    bits = 8 if how["dtype"].startswith("float8") else int(re.sub(r"\D", "", how["dtype"]))
    kind = kinds.get(how["dtype"]) or (lambda: ir.IntegerType.get_signless(bits))
    if isinstance(annotation, type) and issubclass(annotation, Pointer):

        class Typed(PointerJitArg):
            def __get_ir_types__(self):
                self.element_type = kind()
                return super().__get_ir_types__()

        made = Typed(None, None, alignment=max(1, bits // 8))
        JitArgumentRegistry.jit_arg2dsl_type[Typed] = Pointer
        return made

    class Array(MemRefJitArg):
        @property
        def element_type(self):
            return kind()

        def __c_abi_spec__(self):
            return []

    rank = how["rank"]
    JitArgumentRegistry.jit_arg2dsl_type[Array] = Tensor
    return Array(element_bits=bits, shape=(2,) * rank, strides=(2,) * (rank - 1) + (1,), dtype=how["dtype"])


def read(text: str) -> object:
    """A number, True, None, a quoted text; `fx.Float16` as FlyDSL's type; any other word as a text."""
    import flydsl.expr as fx

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        kind = getattr(fx, text.removeprefix("fx."), None)
        return kind if isinstance(kind, type) else text


def read_module(artifact, positions: list[int], given: list[dict], name: str, line: int) -> tuple[bytes, dict]:
    """The code object of the lowered module, and the launch that the module had before it was lowered."""
    from flydsl._mlir import ir
    from flydsl._mlir.dialects import gpu
    from flydsl.compiler.jit_function import _create_mlir_context

    with _create_mlir_context() as context:
        module = ir.Module.parse(artifact.source_ir, context=context)
        [host] = [each for each in module.body.operations if each.operation.name == "func.func"]
        block = host.regions[0].blocks[0]
        there = [each for each in block.operations if each.operation.name == "gpu.launch_func"]
        every = str(host).count("gpu.launch_func")
        if len(there) != 1 or every != 1:
            how = "in a condition or loop of its own" if every == 1 else f"{every} times"
            raise Wrong(f"{name} launches {how}: a candidate's host function launches one kernel, once", line)
        launch = there[0]
        scalars = {at: f"a{at}" for at in positions if "value" in given[at]}
        sizes = [launch.gridSizeX, launch.gridSizeY, launch.gridSizeZ]
        threads = [launch.blockSizeX, launch.blockSizeY, launch.blockSizeZ]
        grid = [formula(size, scalars) for size in sizes]
        counts = [formula(size, scalars) for size in threads]
        lds = formula(launch.dynamicSharedMemorySize, scalars) if launch.dynamicSharedMemorySize else "0"
        if not all(text and text.isdigit() for text in [*counts, lds]):
            raise Wrong(f"{name}: the block and the shared memory of a launch must be the same for all arguments", line)
        parameters = [
            piece
            for at, operand in enumerate(launch.kernelOperands)
            for piece in passed(operand, at, scalars, given, name, line)
        ]
        symbol = str(launch.attributes["kernel"]).rpartition("@")[2].strip('"')
        needs = {
            "kernel": name,
            "block": int(counts[0]) * int(counts[1]) * int(counts[2]),
            "block_shape": [int(text) for text in counts],
            "lds": int(lds),
            "null_pointers": 0,
            "compiled_in": [],
            "multiples_of_16": [],
            "grid": grid if all(grid) else [],
            "parameters": parameters,
        }
        lowered = ir.Module.parse(artifact.ir, context=context)
        [binary] = [each for each in lowered.body.operations if each.operation.name == "gpu.binary"]
        [made] = list(ir.ArrayAttr(binary.attributes["objects"]))
        return bytes(gpu.ObjectAttr(made).object), {symbol: json.dumps(needs)}


def passed(operand, at: int, scalars: dict[int, str], given: list[dict], name: str, line: int) -> list[dict]:
    """What the kernel gets for one of its operands: an array as its address and the sizes that were not known."""
    from flydsl._mlir import ir

    if isinstance(operand.owner, ir.Block):
        number = ir.BlockArgument(operand).arg_number
        if number < len(given) and "value" in given[number]:
            return [{"argument": number}]
        if number < len(given):
            pieces = [{"argument": number}]
            if "memref" in str(operand.type):
                rank = given[number]["rank"]
                pieces.append({"argument": number, "shape": list(range(rank)), "strides": list(range(rank - 1))})
            return pieces
    if _STATIC.match(str(operand.type)):
        return []
    text = formula(operand, scalars)
    if text is None:
        hint = "hand over its own arguments, or integers made of them"
        raise Wrong(f"{name}: what is operand {at + 1} of the kernel cannot be read: {hint}", line)
    return [{"formula": text}]


def formula(value, scalars: dict[int, str]) -> str | None:
    """An integer as an expression over arguments, a0, and sizes of arrays, a0_1; None where it is something else."""
    from flydsl._mlir import ir

    if isinstance(value.owner, ir.Block):
        return scalars.get(ir.BlockArgument(value).arg_number)
    operation = value.owner
    name = operation.name
    if name == "arith.constant":
        attribute = operation.attributes["value"]
        return str(ir.IntegerAttr(attribute).value) if isinstance(attribute, ir.IntegerAttr) else None
    if name == "fly.get_scalar":
        leaves = sizes_of(operation.operands[0])
        return leaves[0] if len(leaves) == 1 else None
    if name == "fly.get_leaves":
        leaves, tuple_type = sizes_of(operation.operands[0]), str(operation.operands[0].type)
        only_unknown = "dynamicOnly" in operation.attributes
        kinds = re.findall(r"\?|-?\d+", re.sub(r"\{[^}]*\}", "", tuple_type))
        if len(leaves) != len(kinds):
            return None
        chosen = [leaf for leaf, kind in zip(leaves, kinds, strict=True) if kind == "?" or not only_unknown]
        number = ir.OpResult(value).result_number
        return chosen[number] if number < len(chosen) else None
    parts = [formula(each, scalars) for each in operation.operands]
    if not all(parts):
        return None
    if name in _SAME:
        return parts[0]
    if name in _SIGNS:
        return f"({parts[0]} {_SIGNS[name]} {parts[1]})"
    return f"{_FUNCTIONS[name]}({parts[0]}, {parts[1]})" if name in _FUNCTIONS else None


def sizes_of(value) -> list[str]:
    """The leaves of a tuple that is an array's shape, or one of its sizes, or their product; none of another."""
    from flydsl._mlir import ir

    if isinstance(value.owner, ir.Block):  # an array is as good as its shape
        rank = re.search(r"memref<[^,]*, [^,]*, (\(.*?\)|[^:]*):", str(value.type))
        number = ir.BlockArgument(value).arg_number
        return [f"a{number}_{at}" for at in range(rank[1].count(",") + 1)] if rank else []
    operation = value.owner
    leaves = sizes_of(operation.operands[0]) if len(operation.operands) == 1 else []
    if operation.name in ("fly.get_layout", "fly.get_shape"):
        return leaves
    if operation.name == "fly.size" and leaves:
        return [f"({' * '.join(leaves)})"]
    mode = (
        re.fullmatch(r"array<i32: (\d+)>", str(operation.attributes["mode"])) if operation.name == "fly.get" else None
    )
    return [leaves[int(mode[1])]] if mode and int(mode[1]) < len(leaves) else []


def told(error: BaseException, name: str, line: int) -> Wrong:
    """An error of FlyDSL with its line in the file: that of the operation, else of the innermost statement."""
    message = str(error) or type(error).__name__
    frames = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(FILE)]
    at = (frames[-1] if frames else line, 0)
    if isinstance(error, SyntaxError) and error.lineno:
        at = (error.lineno, error.offset or 0)
    for record in getattr(error, "diagnostics", ()):
        message = record.message
        places = [frame for frame in record.chain if frame.filename.endswith(FILE)]
        if places:
            at = (places[0].line, places[0].col + 1)
        break
    found = _PLACE.search(message)
    if found:
        at = (int(found[1]), int(found[2]) + 1)
        message = _PLACE.sub("", message)
    kind = "" if type(error).__name__ in ("DSLCompileError", "MLIRError") else f"{type(error).__name__}: "
    return Wrong(f"{name}: {kind}{message}", *at)


if __name__ == "__main__":
    sys.exit(main())
