"""Compiles the @triton.jit and @gluon.jit functions of a candidate ahead of time: no GPU, no torch.

Runs in the sandbox, because importing the candidate runs code of others. A job in JSON says what to compile:
  kernels: {NAME: {"types": [...], "variants": [[position, ...], ...], "constants": [[[name, value], ...], ...]}}
           types: of the run-time arguments, in order; `1` for the literal 1 and `None`, which are compiled in
           variants: the positions of integers that are multiples of 16, one list for each code to make
           constants: what the launch plan computes for its cases, one list of values for each code to make
  values:  {NAME: text} of constexpr parameters and of options
  options: names of options such as num_warps
  used:    names of `values` that the launch plan uses itself
Leaves kernel-N.o and toolchain; prints messages as a C compiler does, and exits with 1 after an error.
The metadata of each kernel have a key `.amdkernel`: JSON of what its launch needs besides its arguments.
"""

import ast
import json
import re
import sys
from pathlib import Path
from types import ModuleType

from candidate_module import FILE, Anything, HostOnly, Missing, Wrong, run_candidate, say

_ENTRIES = re.compile(
    r"^\t\.amdgpu_metadata\n---\namdhsa\.kernels:\n(.*?)^(amdhsa\..*?^\t\.end_amdgpu_metadata\n)", re.M | re.S
)
_MISSING = "no_triton"


def main(arch: str) -> int:
    try:
        import triton
    except ImportError:
        Path("toolchain").write_text(_MISSING)
        return 3
    Path("toolchain").write_text(f"Triton {triton.__version__}")
    job = json.loads(Path("job.json").read_text())
    try:
        texts = [
            one
            for name, (function, types, variants, sets) in load(job, arch).items()
            for computed in sets
            for one in build(name, function, types, variants, arch, with_computed(job, computed))
        ]
    except Wrong as error:
        say("error", str(error), error.line, error.column)
        return 1
    assemble(texts, arch)
    return 0


def with_computed(job: dict, computed: list[list]) -> dict:
    """The job with one set of computed constants among its values, and by themselves."""
    return {
        **job,
        "values": {**job["values"], **{name: str(value) for name, value in computed}},
        "computed": dict(computed),
    }


def load(job: dict, arch: str) -> dict[str, tuple]:
    """The kernels of the job by name: JIT function, types, variants."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver
    from triton.runtime.jit import JITFunction

    class Driver(Anything):
        def get_current_target(self) -> GPUTarget:
            return GPUTarget("hip", arch, wave_size(arch))

    driver.set_active(Driver())
    sys.meta_path.insert(0, HostOnly())
    module = ModuleType("kernel")
    module.__file__ = FILE
    sys.modules["kernel"] = module
    failed = run_candidate(module)
    known = {name: found for name in dir(module) if (found := unwrap(getattr(module, name), JITFunction))}
    kernels = {}
    for name, how in job["kernels"].items():
        if name not in known:
            there = ", ".join(known) or "none"
            if failed:
                raise next((error for error in failed if error.defines == name), failed[0])
            raise Wrong(f"the file has no @triton.jit function {name!r} (functions: {there})")
        kernels[name] = (known[name], how["types"], how["variants"], how["constants"])
    if not kernels:
        raise Wrong("no kernel is named: add `# amdkernel: launch NAME grid=[..]`, with types=[..] to compile alone")
    for error in failed[:3]:
        say("warning", f"this statement was skipped: {error}", error.line)
    parameters = {parameter.name for function, *_ in kernels.values() for parameter in function.params}
    for name in job["values"]:
        if name not in parameters and name not in job["options"] and name not in job["used"]:
            say(
                "warning",
                f"{name} is neither a parameter of {', '.join(kernels)} nor an option ({', '.join(job['options'])})",
            )
    return kernels


def unwrap(value: object, jit: type) -> object:
    """The JIT function in an autotuner or heuristics; None for anything else."""
    for _ in range(8):
        if isinstance(value, jit):
            return value
        if isinstance(value, Anything) or not type(value).__module__.startswith("triton"):
            return None
        value = getattr(value, "fn", None)
    return None


def wave_size(arch: str) -> int:
    return 64 if arch.startswith("gfx9") else 32


def build(name: str, function, types: list[str], variants: list[list[int]], arch: str, job: dict):
    """The assembly of each variant of a kernel, with its metadata."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    from triton.compiler import compile as compile_triton

    line, values = place_of(function)[1], job["values"]
    lacking = [each.name for each in function.params if each.is_constexpr and lacks(each, values)]
    if lacking:
        raise Wrong(without_value(name, lacking, job["options"]), line)
    given = [parameter for parameter in function.params if not parameter.is_constexpr]
    if len(given) != len(types):
        names = ", ".join(parameter.name for parameter in given)
        raise Wrong(f"{name} takes {len(given)} arguments at run time ({names}), the plan gives {len(types)}", line)
    signature, constants, baked = {}, {}, []
    positions = {parameter.name: position for position, parameter in enumerate(given)}
    for parameter in function.params:
        if parameter.is_constexpr:
            signature[parameter.name] = "constexpr"
            constants[parameter.name] = constant(parameter, values)
        elif types[positions[parameter.name]] == "None":
            signature[parameter.name], constants[parameter.name] = "constexpr", None
            baked.append(positions[parameter.name])
        elif types[positions[parameter.name]] != "1":
            kind = types[positions[parameter.name]]
            signature[parameter.name] = kind if kind.startswith("*") else parameter.annotation_type or kind
        elif parameter.do_not_specialize:
            signature[parameter.name] = "i32"
        else:
            signature[parameter.name], constants[parameter.name] = "constexpr", 1
            baked.append(positions[parameter.name])
    options = {"num_warps": 4} | {option: read(values[option]) for option in job["options"] if option in values}
    source_type = ASTSource
    if getattr(function, "is_gluon", lambda: False)():
        from triton.experimental.gluon._runtime import GluonASTSource as source_type
    for multiples in variants:
        chosen = [at for at in multiples if at not in baked and not given[at].do_not_specialize]
        if multiples and not chosen:
            continue
        attributes = {}
        for at, parameter in enumerate(given):
            aligned = at in chosen or (types[at].startswith("*") and not parameter.do_not_specialize_on_alignment)
            if aligned:
                attributes[(function.arg_names.index(parameter.name),)] = [["tt.divisibility", 16]]
        symbol = name + "".join(f"__{key}_{value}" for key, value in job["computed"].items())
        symbol += "".join(f"__{given[at].name}" for at in chosen) + ("_by_16" if chosen else "")
        function.repr = lambda _, symbol=symbol: symbol
        try:
            made = compile_triton(
                source_type(function, signature, constants, attributes),
                target=GPUTarget("hip", arch, wave_size(arch)),
                options=options,
            )
        except Exception as error:
            raise told(error, name, function) from None
        metadata = made.metadata
        if getattr(metadata, "global_scratch_size", 0) or getattr(metadata, "profile_scratch_size", 0):
            raise Wrong(f"{name} needs scratch memory of the launcher, as tensor descriptors do: not supported", line)
        needs = {
            "kernel": name,
            "block": metadata.num_warps * metadata.warp_size,
            "lds": metadata.shared,
            "null_pointers": 2,
            "compiled_in": baked,
            "multiples_of_16": chosen,
            "constants": job["computed"],
        }
        yield made.asm["amdgcn"], needs


def lacks(parameter, values: dict[str, str]) -> bool:
    return parameter.name not in values and not parameter.has_default


def constant(parameter, values: dict[str, str]) -> object:
    return read(values[parameter.name]) if parameter.name in values else parameter.default


def without_value(kernel: str, lacking: list[str], options: list[str]) -> str:
    """What to write for constexpr parameters without a value: the line that takes the place of autotune's configs."""
    configs, computed = decorations(sys.modules["kernel"], kernel)
    tuned: dict[str, list[str]] = {}
    for config in configs:
        chosen = {option: getattr(config, option, None) for option in options if hasattr(config, option)}
        for key, value in {**config.kwargs, **chosen}.items():
            text = str(value)
            if value is not None and re.fullmatch(r"-?\w+", text) and text not in tuned.setdefault(key, []):
                tuned[key].append(text)
    lines = []
    if set(lacking) & set(tuned):
        lines.append("tune " + " ".join(f"{key}=[{', '.join(found[:4])}]" for key, found in tuned.items()))
    rest = [name for name in lacking if name not in tuned]
    if rest:
        lines.append("constexpr " + " ".join(f"{name}=.." for name in rest))
    text = f"the constexpr {', '.join(lacking)} of {kernel} {'has' if len(lacking) == 1 else 'have'} no value: add "
    text += " and ".join(f"`# amdkernel: {line}`" for line in lines)
    by_launch = [name for name in rest if name in computed]
    if by_launch:
        text += f"; heuristics compute {', '.join(by_launch)} for each launch, as `BLOCK=next_power_of_2(n)` here does"
    return text


def decorations(module: ModuleType, kernel: str) -> tuple[list, set[str]]:
    """The configs of a kernel's autotuner, and the names that its heuristics compute."""
    value, configs, computed = getattr(module, kernel), [], set()
    for _ in range(8):
        given = vars(value)
        configs += given.get("configs") or []
        names = given.get("values")
        computed |= set(names) if isinstance(names, dict) else set()
        value = given.get("fn")
        if value is None or not type(value).__module__.startswith("triton"):
            break
    return configs, computed


def read(text: str) -> object:
    """A number, True, None, a quoted text; `tl.float32` as Triton's type; any other word as a text."""
    import triton.language as tl

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        kind = getattr(tl, text.removeprefix("tl."), None)
        return kind if isinstance(kind, tl.dtype) else text


def told(error: BaseException, name: str, function) -> Wrong:
    """An error of Triton with its line in the file: that of the innermost function of the candidate."""
    from triton.compiler.errors import CompilationError

    chain = [error]
    while (inner := chain[-1].__cause__ or chain[-1].__context__) is not None and inner not in chain:
        chain.append(inner)
    at = (place_of(function)[1], 0)
    for each in chain:  # from the outermost: a deeper one is nearer to the mistake
        line = getattr(getattr(each, "node", None), "lineno", None)
        source = getattr(each, "src", None)
        begin = begin_of(source, function)
        if isinstance(each, CompilationError) and line and begin:
            at = (begin - 1 + line, each.node.col_offset + 1)
    last = chain[-1]
    message = getattr(last, "error_message", None) or str(last) or type(last).__name__
    for word, value in vars(sys.modules["kernel"]).items():
        if isinstance(value, Missing) and re.search(rf"\b{re.escape(word)}\b", message):
            rows = [n for n, row in enumerate(function.src.splitlines()) if re.search(rf"\b{re.escape(word)}\b", row)]
            if rows and at == (place_of(function)[1], 0):  # Triton looked at names before it went through lines
                at = (place_of(function)[1] + rows[0], 0)
            message = f"{word} is imported from {value.module}, which the sandbox lacks: copy its code into this file"
            break
    return Wrong(f"{name}: {message}", *at)


def place_of(function) -> tuple[str, int]:
    """The file and the line of the `def` of a JIT function; releases before 3.9 have a function for it."""
    if hasattr(function, "def_file_line_number"):
        return function.file_name, function.def_file_line_number
    from triton.runtime.jit import get_jit_fn_file_line

    return get_jit_fn_file_line(function)


def begin_of(source: str | None, function) -> int | None:
    """The line at which the function with this text begins, if it is one of the file."""
    from triton.runtime.jit import JITFunction

    for value in [function, *vars(sys.modules["kernel"]).values()]:
        found = unwrap(value, JITFunction)
        if found is not None and source is not None and found.src == source and place_of(found)[0].endswith(FILE):
            return place_of(found)[1]
    return None


def assemble(texts: list[tuple[str, dict]], arch: str) -> None:
    """kernel-N.o of each text. The first has the metadata of all kernels, because runtimes read one note."""
    features = ""
    try:
        from triton.backends.amd.compiler import assemble_amdgcn
    except ImportError:  # before 3.9, which wrote RDNA 3 without 16-bit registers
        from triton._C.libtriton.amd import assemble_amdgcn

        features = "-real-true16" if arch.startswith("gfx11") else ""
    entries = []
    for text, needs in texts:
        found = _ENTRIES.search(text)
        assert found
        entries.append(found[1].rstrip("\n") + f"\n    .amdkernel: {json.dumps(json.dumps(needs))}\n")
    for number, (text, _) in enumerate(texts):
        found = _ENTRIES.search(text)
        assert found
        block = f"\t.amdgpu_metadata\n---\namdhsa.kernels:\n{''.join(entries)}{found[2]}" if number == 0 else ""
        whole = text[: found.start()] + block + text[found.end() :]
        Path(f"kernel-{number}.o").write_bytes(assemble_amdgcn(whole, arch, features))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
