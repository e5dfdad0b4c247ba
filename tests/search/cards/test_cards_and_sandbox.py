"""The bundled tables and the node's own headers against the sandbox's assembler, compiler and include folder."""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.search.cards.api import api_card
from amdkernel_mcp.search.cards.collect import COMMAND, TIMEOUT_S, Collected, command_files, keep_declarations
from amdkernel_mcp.search.cards.declarations import Declarations, open_declarations
from amdkernel_mcp.search.cards.hip_errors import hip_errors
from amdkernel_mcp.search.cards.instructions import architectures_of
from amdkernel_mcp.search.cards.lookup import Lookup
from amdkernel_mcp.search.cards.matrix import matrix_instructions
from amdkernel_mcp.search.corpus.sandbox_documents import BUILTINS

ASSEMBLE = """
mc=$(ls /usr/lib/llvm-*/bin/llvm-mc | tail -n 1)
for f in *.s; do $mc $(cat $f.options) $f 2> $OUT/$f > /dev/null; done
exit 0
"""
COMPILE = """
clang=$(ls /usr/lib/llvm-*/bin/clang | tail -n 1)
$clang -x c -target amdgcn-amd-amdhsa -mcpu=gfx942 -O1 -S a.c -o $OUT/a.s
"""


@pytest.fixture(scope="module")
def declarations(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Declarations]:
    folder = tmp_path_factory.mktemp("headers")
    path = folder / "hip-api.sqlite3"
    completed = sandbox.run("compile", COMMAND, command_files(), timeout_s=TIMEOUT_S)
    collected = Collected(completed.files, completed.stderr, in_sandbox=True)
    assert keep_declarations(collected, path, folder / "documents") > 2_000, completed.stderr
    assert (folder / "documents" / "hip" / "hip_runtime_api.h").is_file()
    assert (
        "__builtin_amdgcn_mfma_f32_32x32x8f16" in (folder / "documents" / "clang" / "builtins" / BUILTINS).read_text()
    )
    opened = open_declarations(path)
    assert opened
    yield opened
    opened.close()


def assembled(sandbox: Sandbox, sources: dict[str, tuple[list[str], str]]) -> dict[str, set[int]]:
    """The numbers of the lines that the assembler refuses, for each source of lines and options."""
    files = {f"{name}.s": ("\n".join(lines) + "\n").encode() for name, (lines, _) in sources.items()}
    files |= {f"{name}.s.options": options.encode() for name, (_, options) in sources.items()}
    completed = sandbox.run("compile", ["sh", "-c", ASSEMBLE], files, timeout_s=120)
    assert completed.exit_code == 0, completed.stderr
    found = {name: completed.files[f"{name}.s"].decode() for name in sources}
    return {name: {int(line) for line in re.findall(r"\.s:(\d+):\d+: error", said)} for name, said in found.items()}


def operands(name: str, d: int, a: int, b: int) -> str:
    registers = [f"v[{at}:{at + n - 1}]" if n > 1 else f"v{at}" for at, n in ((0, d), (64, a), (128, b))]
    last = "v200" if "smfmac" in name or "swmmac" in name else registers[0]
    return f"{name} {', '.join([*registers, last])}" + (", v200, v201" if "_scale_" in name else "")


def test_the_assembler_takes_every_matrix_instruction_with_the_registers_of_its_card_and_no_others(
    sandbox: Sandbox,
) -> None:
    right, wrong = defaultdict(list), defaultdict(list)
    for one in matrix_instructions():
        for form in one.forms:
            key = f"{form.arch}-{form.wave}"
            right[key].append(operands(form.name, form.d, form.a, form.b))
            wrong[key].append(operands(form.name, form.d * 2, form.a, form.b))
            wrong[key].append(operands(form.name, form.d, form.a, form.b * 4))
    sources: dict[str, tuple[list[str], str]] = {}
    for key in right:
        arch, _, wave = key.partition("-")
        options = f"-triple=amdgcn -mcpu={arch}" + (
            "" if arch < "gfx1" or arch[3] == "9" else f" -mattr=+wavefrontsize{wave}"
        )
        sources |= {f"right-{key}": (right[key], options), f"wrong-{key}": (wrong[key], options)}
    refused = assembled(sandbox, sources)
    for key in right:
        assert refused[f"right-{key}"] == set(), key
        assert refused[f"wrong-{key}"] == set(range(1, len(wrong[key]) + 1)), key


def test_the_assembler_knows_each_mnemonic_on_the_architectures_of_its_card_alone(sandbox: Sandbox) -> None:
    some = sorted(architectures_of())[::7]
    archs = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
    files = {f"{arch}.s": ("\n".join(some) + "\n").encode() for arch in archs}
    files |= {f"{arch}.s.options": f"-triple=amdgcn -mcpu={arch}".encode() for arch in archs}
    completed = sandbox.run("compile", ["sh", "-c", ASSEMBLE], files, timeout_s=120)
    for arch in archs:
        said = completed.files[f"{arch}.s"].decode()
        absent = {int(line) for line in re.findall(r"\.s:(\d+):\d+: error: instruction not supported", said)}
        known = {name for number, name in enumerate(some, 1) if number not in absent}
        assert known == {name for name in some if arch in architectures_of()[name]}, arch


def test_clang_makes_the_instruction_of_a_card_from_its_builtin(sandbox: Sandbox) -> None:
    forms = [form for one in matrix_instructions() for form in one.forms if form.arch == "gfx942" and form.builtin]
    source = "".join(
        f"typedef {kind} {kind.strip('_')}x{n} __attribute__((ext_vector_type({n})));\n"
        for kind in ("float", "double", "_Float16", "short", "int", "long")
        for n in (2, 4, 8, 16, 32)
    )
    for at, form in enumerate(forms):
        result, _, listed = form.prototype.rstrip(")").partition(" (")
        kinds = listed.split(", ")
        declared = ", ".join(f"{kind} a{n}" for n, kind in enumerate(kinds) if not kind.startswith("const"))
        given = ", ".join("0" if kind.startswith("const") else f"a{n}" for n, kind in enumerate(kinds))
        source += f"{result} f{at}({declared}) {{ return {form.builtin}({given}); }}\n"
    completed = sandbox.run("compile", ["sh", "-c", COMPILE], {"a.c": source.encode()}, timeout_s=120)
    assert completed.exit_code == 0, completed.stderr
    made = re.findall(r"^\s+(v_s?mfma\w+)", completed.files["a.s"].decode(), re.MULTILINE)
    assert made == [form.name for form in forms]


def test_the_codes_of_the_error_table_are_those_of_the_headers(declarations: Declarations) -> None:
    rows = declarations.connection.execute(
        "SELECT name, text FROM entries WHERE text LIKE '%// a value of hipError_t%' OR text LIKE '%of hiprtcResult%'"
    ).fetchall()
    declared = {name: re.search(r"= (\d+)", text) for name, text in rows}
    assert set(declared) == set(hip_errors())
    for name, value in declared.items():
        if value:
            assert hip_errors()[name].code == int(value[1]), name


def test_an_api_card_comes_from_the_headers_that_kernels_are_compiled_with(declarations: Declarations) -> None:
    card = api_card(declarations, "hipMemcpyAsync")
    assert card
    assert "hipMemcpyAsync(void* dst, const void* src, size_t sizeBytes, hipMemcpyKind kind" in card.text
    assert "- sizeBytes [in]: Data size in bytes" in card.text
    assert "hipErrorInvalidValue" in card.text
    assert declarations.hip_version.startswith("6.") or declarations.hip_version.startswith("7.")
    assert "clang" in declarations.compiler


NAMES = (
    "hipMalloc", "hipMemcpyKind", "hipDeviceProp_t", "hipStreamNonBlocking", "hipMemcpyHostToDevice", "hipEvent_t",
    "hiprtcCompileProgram", "__shfl_down", "__ballot", "__syncthreads", "atomicAdd", "__expf", "sinf", "__half2float",
    "__launch_bounds__", "HIP_DYNAMIC_SHARED", "hipGraphInstantiate", "hipLaunchCooperativeKernel", "cudaMallocManaged",
    "__builtin_amdgcn_readfirstlane", "__builtin_amdgcn_ds_bpermute", "__builtin_amdgcn_s_barrier",
    "cudaMemcpyDeviceToHost", "__threadfence_block", "__popcll", "hipDeviceAttributeMaxThreadsPerBlock",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_of_every_kind_are_declared(declarations: Declarations, name: str) -> None:
    (card,) = Lookup(declarations).cards_in(name)
    assert card.kind == "api"
    assert card.text.count("```") == 2 or "```cpp" in card.text


def test_no_entry_is_empty_or_unreadable(declarations: Declarations) -> None:
    lookup = Lookup(declarations)
    for name in declarations.names():
        card = lookup.card(f"api:{name}")
        assert card, name
        assert name in card.text or name.lower() in card.text.lower(), name


def test_the_file_is_small(declarations: Declarations) -> None:
    (path,) = declarations.connection.execute("SELECT file FROM pragma_database_list").fetchone()
    assert Path(path).stat().st_size < 2_000_000
