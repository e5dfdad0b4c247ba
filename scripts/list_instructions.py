#!/usr/bin/env python3
"""Prints the instruction tables of docs_index, by asking the assembler and the compiler of the sandbox image.

Runs inside the image, with the standard library alone:
    docker run --rm -i --entrypoint python3 IMAGE - mnemonics < scripts/list_instructions.py > docs_index/mnemonics.tsv
    docker run --rm -i --entrypoint python3 IMAGE - matrix < scripts/list_instructions.py > docs_index/matrix.tsv

Names come from the mnemonic table inside libLLVM and the builtin table inside libclang-cpp; which architecture has a
name, and how wide its operands are, is what llvm-mc accepts; passes are those of LLVM's scheduling model (llvm-mca).
"""

import glob
import re
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

ARCHITECTURES = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
BIN = sorted(glob.glob("/usr/lib/llvm-*/bin"))[-1]
_LIBRARIES = "/usr/lib/x86_64-linux-gnu"
_NAME = re.compile(rb"[a-z0-9_.]+")
_ABSENT = ("invalid instruction", "not supported on this GPU")
_ERROR = re.compile(r"<stdin>:(\d+):\d+: error: (.*)")
_MATRIX = re.compile(r"^v_(mfma|smfmac|wmma|swmmac)_")
_C_TYPES = {
    "f": "float", "d": "double", "x": "_Float16", "h": "_Float16", "y": "__bf16", "s": "short", "i": "int",
    "Wi": "long", "Zi": "int", "b": "_Bool",
}  # fmt: skip
_WIDTHS = (1, 2, 4, 8, 16, 32)


def main() -> None:
    """Prints the table that the only argument names."""
    say(f"# {run('clang', '--version').stdout.splitlines()[0]}; made by scripts/list_instructions.py")
    {"mnemonics": print_mnemonics, "matrix": print_matrix}[sys.argv[1]]()


def say(*cells: object) -> None:
    """A line of the table."""
    sys.stdout.write("\t".join(map(str, cells)) + "\n")


def run(tool: str, *arguments: str, text: str = "") -> "subprocess.CompletedProcess[str]":
    """The ended process of an LLVM tool."""
    return subprocess.run([f"{BIN}/{tool}", *arguments], input=text, text=True, capture_output=True)


def print_mnemonics() -> None:
    """A line for each mnemonic: its name, and the architectures that have it."""
    names = sorted(set(mnemonics()))
    found = defaultdict(list)
    for arch in ARCHITECTURES:
        for name in there(names, arch):
            found[name].append(arch)
    for name, archs in found.items():
        say(name, " ".join(archs))


def mnemonics() -> "list[str]":
    """The mnemonics of the assembler's match table: strings one after the other, each behind its length."""
    with open(sorted(glob.glob(f"{_LIBRARIES}/libLLVM*.so*"))[-1], "rb") as library:
        data = library.read()
    start = middle = data.index(b"\x16v_mfma_f32_32x32x8_f16")
    while (length := _string_before(data, start)) is not None:
        start -= 1 + length
    names = []
    while _NAME.fullmatch(data[middle + 1 : middle + 1 + data[middle]]):
        middle += 1 + data[middle]
    while start < middle:
        names.append(data[start + 1 : start + 1 + data[start]].decode())
        start += 1 + data[start]
    return names


def _string_before(data: bytes, at: int) -> "int | None":
    fits = (n for n in range(3, 60) if data[at - 1 - n] == n and _NAME.fullmatch(data[at - n : at]))
    return next(fits, None)


def there(names: "list[str]", arch: str) -> "list[str]":
    """The names that the assembler knows for `arch`: its errors are about the operands, not the name."""
    ended = run("llvm-mc", "-triple=amdgcn", f"-mcpu={arch}", "-o", "/dev/null", text="\n".join(names) + "\n")
    absent = {int(line) for line, why in _ERROR.findall(ended.stderr) if any(one in why for one in _ABSENT)}
    return [name for line, name in enumerate(names, 1) if line not in absent]


def print_matrix() -> None:
    """A line for each matrix instruction, architecture and wave size; see matrix.py for the columns."""
    names = [name for name in sorted(set(mnemonics())) if _MATRIX.match(name)]
    say("# name", "arch", "wave", "D", "A", "B", "passes", "other spellings", "builtin", "its prototype")
    for arch in ARCHITECTURES:
        for wave in (64,) if arch.startswith("gfx9") else (32, 64):
            rows = spellings(there(names, arch), arch, wave)
            made = builtins(arch, wave)
            for (name, widths), others in sorted(rows.items()):
                builtin, prototype = made.get(name, ("", ""))
                cells = (*widths, passes(name, widths, arch), " ".join(sorted(others - {name})), builtin, prototype)
                say(name, arch, wave, *cells)


def spellings(names: "list[str]", arch: str, wave: int) -> "dict[tuple[str, tuple[int, ...]], set[str]]":
    """The spellings of an instruction by its canonical one and the registers of D, A and B."""
    lines = [(name, (d, a, b)) for name in names for d in _WIDTHS for a in _WIDTHS for b in _WIDTHS]
    text = "".join(f"{assembly(name, widths)}\n" for name, widths in lines)
    wanted = f"-mattr={'+' if wave == 64 else '-'}wavefrontsize64" if not arch.startswith("gfx9") else "-mattr="
    options = ("-triple=amdgcn", f"-mcpu={arch}", wanted, "-o", "-")
    refused = {int(line) for line, _ in _ERROR.findall(run("llvm-mc", *options, text=text).stderr)}
    good = [line for number, line in enumerate(lines, 1) if number not in refused]
    printed = run("llvm-mc", *options, text="".join(f"{assembly(*line)}\n" for line in good)).stdout.split("\n")
    canonical = [line.split()[0] for line in printed if _MATRIX.match(line.strip())]
    found: dict[tuple[str, tuple[int, ...]], set[str]] = defaultdict(set)
    for (name, widths), shown in zip(good, canonical, strict=True):
        found[shown, widths].add(name)
    return found


def assembly(name: str, widths: "tuple[int, ...]") -> str:
    """The instruction with operands of that many registers."""
    d, a, b = (_registers(first, width) for first, width in zip((0, 64, 128), widths, strict=True))
    kind = _MATRIX.match(name)
    last = "v200" if kind is not None and kind[1] in ("smfmac", "swmmac") else d
    scales = ", v200, v201" if "_scale_" in name else ""
    return f"{name} {d}, {a}, {b}, {last}{scales}"


def _registers(first: int, width: int) -> str:
    return f"v{first}" if width == 1 else f"v[{first}:{first + width - 1}]"


def passes(name: str, widths: "tuple[int, ...]", arch: str) -> str:
    """The passes (4 cycles each) for which LLVM's model keeps the matrix core busy; none where it has no such model."""
    if not arch.startswith("gfx9") or name.endswith("f8f6f4"):  # of the latter the formats decide, not the name
        return ""
    ended = run("llvm-mca", "-mtriple=amdgcn", f"-mcpu={arch}", "-iterations=10", text=assembly(name, widths) + "\n")
    found = re.search(r"^Block RThroughput: +([\d.]+)$", ended.stdout, re.MULTILINE)
    return f"{float(found[1]):g}" if found else ""


def builtins(arch: str, wave: int) -> "dict[str, tuple[str, str]]":
    """The clang builtin that makes an instruction, and its prototype, by the instruction's canonical name."""
    with open(sorted(glob.glob(f"{_LIBRARIES}/libclang-cpp.so*"))[-1], "rb") as library:
        data = library.read()
    known = re.findall(rb"\0(__builtin_amdgcn_(?:mfma|smfmac|wmma|swmmac)_\w+)\0([\w]+)\0\w*\0", data)
    with ThreadPoolExecutor(2) as pool:
        made = pool.map(lambda one: compiled(one[0].decode(), one[1].decode(), arch, wave), known)
    found: dict[str, tuple[str, str]] = {}
    for (name, encoded), instruction in zip(known, made, strict=True):
        if instruction and "_tied_" not in name.decode():
            found.setdefault(instruction, (name.decode(), prototype(encoded.decode())))
    return found


def compiled(name: str, encoded: str, arch: str, wave: int) -> "str | None":
    """The matrix instruction that clang makes of a call of the builtin; None where `arch` does not have it."""
    result, *parameters = c_types(encoded)
    declared = [f"{kind} a{at}" for at, (kind, constant) in enumerate(parameters) if not constant]
    given = ", ".join("0" if constant else f"a{at}" for at, (_, constant) in enumerate(parameters))
    source = f"{result[0]} f({', '.join(declared)}) {{ return {name}({given}); }}"
    options = ["-x", "c", "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}", "-O1", "-S", "-o", "-", "-"]
    if not arch.startswith("gfx9"):
        options.append("-mwavefrontsize64" if wave == 64 else "-mno-wavefrontsize64")
    ended = run("clang", *options, text=VECTORS + source)
    used = re.findall(r"^\s+(v_(?:mfma|smfmac|wmma|swmmac)_\w+)", ended.stdout, re.MULTILINE)
    return used[0] if ended.returncode == 0 and len(used) == 1 else None


VECTORS = "".join(
    f"typedef {kind} {kind.strip('_')}x{count} __attribute__((ext_vector_type({count})));\n"
    for kind in dict.fromkeys(_C_TYPES.values())
    if kind != "_Bool"
    for count in (2, 3, 4, 6, 8, 16, 32)
)


def c_types(encoded: str) -> "list[tuple[str, bool]]":
    """The types of clang's encoding, the result's first, and whether each must be a constant."""
    found = re.findall(r"(I?)U?(?:V(\d+))?([WZ]i|[fdxhysib])", encoded)
    return [
        (f"{_C_TYPES[kind].strip('_')}x{n}" if n else _C_TYPES[kind], bool(constant)) for constant, n, kind in found
    ]


def prototype(encoded: str) -> str:
    """`floatx16 (Float16x4, Float16x4, floatx16, const int, …)`."""
    (result, _), *parameters = c_types(encoded)
    return f"{result} ({', '.join(f'const {kind}' if constant else kind for kind, constant in parameters)})"


if __name__ == "__main__":
    main()
