"""Public CUDA programs, drawn by a rule: how many compile untouched, end in time, and agree with their check or twin.

`python -m benchmarks.port_programs` prints the table of `recorded/port_programs.csv`. With `--checkout FOLDER`, a
checkout of HeCBench, it draws further programs, runs them and adds their rows; `--log FILE` keeps what they print.

The rule: programs of HeCBench with one .cu file that has `main`, a twin in HIP with one source, and a `run` line of
the Makefile whose arguments name no file; sorted by name, shuffled with `--seed`, without those that the table has.
What the Makefile defines is defined, and its folders of headers are taken. Each is built with
`--keep-warps` for gfx942 and gfx1100 in one binary, sources untouched, and run on both. Numbers among its arguments
are cut to 512 and the last one, most often a count of repetitions, to 1; a program that does not end in 30 s then has
its numbers cut to 64. It agrees where its own check passes on both, or where it says on gfx942 what its twin says
there. `recorded/port_candidates.csv` has kernels that became candidates by `amdkernel port FILE --candidate NAME
--problem PROBLEM` on gfx942, with problems written for them. The tables have no text of these programs.
"""

import argparse
import csv
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.errors import AmdkernelError
from amdkernel_mcp.execution.open_sandbox import open_sandbox
from amdkernel_mcp.execution.runner.program_build import build_program
from amdkernel_mcp.execution.runner.program_files import Program
from amdkernel_mcp.execution.sandbox import Sandbox
from amdkernel_mcp.execution.targets import find_target
from amdkernel_mcp.port.compare import Said, difference
from amdkernel_mcp.port.functions import prints_on_gpu
from amdkernel_mcp.port.port import Wanted, port, program_of
from amdkernel_mcp.port.sources import CudaProgram, read_file
from amdkernel_mcp.port.verify import Place, run_on
from amdkernel_mcp.work import Work

RECORDED = Path(__file__).parent / "recorded" / "port_programs.csv"
CANDIDATES = RECORDED.with_name("port_candidates.csv")
LIMIT_S = 30.0
SIZES = (512, 64)
PASSES = re.compile(r"(?i)\bpass(?:ed|es)?\b|success|\bcorrect\b|\bok\b|verified|\bmatch(?:es|ed)?\b")
RUN = re.compile(r"^run:[^\n]*\n((?:\t[^\n]*\n)+)", re.M)


@dataclass(frozen=True)
class Drawn:
    """A program and its twin, with the arguments of its Makefile."""

    name: str
    source: Path
    twin: Path
    arguments: str

    @property
    def defines(self) -> tuple[str, ...]:
        """What the Makefile defines for the compiler."""
        return tuple(re.findall(r"(?<=\s-D)\w+(?:=[\w.]+)?(?=\s)", _makefile(self.source)))

    def include(self, of: Path) -> list[Path]:
        """The folders of headers that a source's Makefile names, its own and that of the collection."""
        named = re.findall(r"(?<=\s-I)[\w./-]+", _makefile(of))
        return [of.parent, *((of.parent / each).resolve() for each in named), self.source.parent.parent / "include"]


def _makefile(of: Path) -> str:
    text = (of.parent / "Makefile").read_text(errors="replace").replace(" -I ", " -I")
    return re.sub(r"(?ms)^if.*?^endif", "", text)  # such as for debugging


@dataclass(frozen=True)
class Row:
    """One program of the table. Empty: not reached. cause: of a row that does not agree, as a person read it."""

    collection: str
    program: str
    draw: str
    arguments: str
    build: str = ""  # compiles, does_not_compile
    ended: str = ""  # yes, no: on both targets within the limit
    check: str = ""  # passes, fails, none: what the program says of itself
    twin: str = ""  # agrees, differs, does_not_compile, not_finished
    waves: str = ""  # same, differs: gfx942 against gfx1100
    cause: str = ""

    @property
    def agrees(self) -> bool:
        """With its own check or with its twin."""
        return self.check == "passes" or (self.twin == "agrees" and self.check != "fails")


def recorded() -> list[Row]:
    """All rows."""
    with RECORDED.open(newline="", encoding="utf-8") as file:
        return [Row(**row) for row in csv.DictReader(file)]


def draw(checkout: Path, seed: int, known: set[str]) -> list[Drawn]:
    """Programs by the rule, in the order of the draw."""
    found = []
    for folder in sorted((checkout / "src").glob("*-cuda")):
        name = folder.name.removesuffix("-cuda")
        twins = sorted((folder.parent / f"{name}-hip").glob("*.cu"))
        sources = sorted(folder.glob("*.cu"))
        makefile = folder / "Makefile"
        line = RUN.search(makefile.read_text(errors="replace") + "\n") if makefile.is_file() else None
        if len(sources) != 1 or len(twins) != 1 or line is None or not (called := re.search(r"\./\S+(.*)", line[1])):
            continue
        arguments = called[1].strip()
        if not re.search(r"[/$<>|]|[A-Za-z]\.|\.[A-Za-z]", arguments):
            found.append(Drawn(name, sources[0], twins[0], arguments))
    random.Random(seed).shuffle(found)
    with_main = re.compile(r"\bmain\s*\(")
    return [
        each for each in found if each.name not in known and with_main.search(each.source.read_text(errors="replace"))
    ]


def cut(arguments: str, most: int) -> tuple[str, ...]:
    """The arguments with numbers of at most `most`, and one repetition."""
    words = arguments.split()
    made = []
    for place, word in enumerate(words):
        number = int(word) if re.fullmatch(r"\d+", word) else None
        if number is None:
            made.append(re.sub(r"(?<==)\d+$", lambda digits: str(min(int(digits.group()), most)), word))
        elif place == len(words) - 1 and number >= 10:
            made.append("1" if len(words) > 1 else "2")
        else:
            made.append(str(min(number, most)))
    return tuple(made)


class Runner:
    """Builds and runs programs in one sandbox."""

    def __init__(self, draw: str) -> None:
        settings = load_settings()
        self._sandbox: Sandbox = open_sandbox(settings)
        self._narrow, self._wide = (
            Place(find_target(f"emulator:{arch}", settings), self._sandbox) for arch in ("gfx1100", "gfx942")
        )
        self._work = Work()
        self._draw = draw

    def close(self) -> None:
        """End the sandbox."""
        self._sandbox.close()

    def row(self, drawn: Drawn) -> tuple[Row, dict[str, str]]:
        """What became of a program, and what it printed."""
        said: dict[str, str] = {}
        for most in SIZES:
            arguments = cut(drawn.arguments, most)
            row = Row("zjin-lcf/HeCBench", drawn.name, self._draw, " ".join(arguments))
            program = read_file(drawn.source, drawn.include(drawn.source))
            defines = tuple(each if "=" in each else f"{each}=1" for each in drawn.defines)
            wanted = Wanted(program, True, ("gfx942", "gfx1100"), defines=defines, arguments=arguments)
            made = port(self._sandbox, wanted, self._work)
            if made.failed:
                return replace(row, build="does_not_compile"), {"failed": made.failed}
            row = replace(row, build="compiles")
            narrow = run_on(made.program, self._narrow, LIMIT_S, self._work)
            wide = None if narrow.stopped else run_on(made.program, self._wide, LIMIT_S, self._work)
            if wide is not None and not wide.stopped:
                return self._judged(replace(row, ended="yes"), drawn, program, narrow.said, wide.said)
            row = replace(row, ended="no")
            said["stopped"] = narrow.stopped or (wide.stopped if wide else "") or ""
            if "it ran for more" not in said["stopped"] or cut(drawn.arguments, SIZES[-1]) == arguments:
                break
        return row, said

    def _judged(
        self, row: Row, drawn: Drawn, program: CudaProgram, narrow: Said, wide: Said
    ) -> tuple[Row, dict[str, str]]:
        any_order = any(prints_on_gpu(text) for text in program.files.values())
        apart = difference(narrow, wide, any_order=any_order)
        wrong = narrow.looks_wrong or wide.looks_wrong
        says = all(PASSES.search(each.text) for each in (narrow, wide))
        row = replace(
            row, check="fails" if wrong else "passes" if says else "none", waves="differs" if apart else "same"
        )
        log = {"narrow": narrow.text[:4000], "wide": wide.text[:4000], "apart": apart or ""}
        twin = read_file(drawn.twin, drawn.include(drawn.twin))
        defines = [f"-D{each}" for each in drawn.defines]
        source = program_of(twin.main, twin.files, [twin.main], list(twin.files.values()))
        source = replace(source, arguments=tuple(row.arguments.split()), flags=(*source.flags, *defines, "-w"))
        messages = bytearray()
        built = build_program(self._sandbox, "gfx942", source, messages.extend, self._work)
        if built.failed:
            return replace(row, twin="does_not_compile"), log | {
                "twin_failed": messages.decode(errors="replace")[:2000]
            }
        ready: Program = replace(source, path=built.path, files=dict(built.files), sources=(), flags=(), include=())
        ran = run_on(ready, self._wide, LIMIT_S, self._work)
        log["twin_says"] = ran.said.text[:4000]
        if ran.stopped:
            return replace(row, twin="not_finished"), log | {"twin_stopped": ran.stopped}
        other = difference(ran.said, wide, any_order=any_order)
        return replace(row, twin="differs" if other else "agrees"), log | {"from_twin": other or ""}


def lines(rows: list[Row]) -> Iterator[str]:
    """The counts, and what is left."""
    for number in [*sorted({row.draw for row in rows}), None]:
        here = [row for row in rows if number in (None, row.draw)]
        built = [row for row in here if row.build == "compiles"]
        ended = [row for row in built if row.ended == "yes"]
        title = f"draw {number}" if number else "all"
        yield (
            f"{title}: {len(here)} programs, {len(built)} compile untouched for both, {len(ended)} end in time,"
            f" {sum(row.agrees for row in ended)} agree with their check or twin"
        )
    causes = Counter(row.cause or "not read" for row in rows if row.ended == "yes" and not row.agrees)
    yield from (f"  does not agree: {count} {cause}" for cause, count in causes.most_common())


def candidates() -> str:
    """How many kernels became candidates that are correct, and of what."""
    with CANDIDATES.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    right = [row for row in rows if row["verdict"] == "correct"]
    kinds = ", ".join(f"{kind} {count}" for kind, count in Counter(row["what"] for row in right).items())
    return f"candidates: {len(right)} of {len(rows)} kernels are correct on gfx942: {kinds}"


def main() -> None:
    """Print the table, after further programs ran."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path)
    parser.add_argument("--seed", type=int, default=3611)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--only", help="of the draw, the program of this name")
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    rows = recorded()
    if options.checkout:
        wanted = draw(options.checkout, options.seed, {row.program for row in rows})
        wanted = [each for each in wanted if options.only in (None, each.name)][: options.count]
        runner = Runner(str(options.seed))
        try:
            for each in wanted:
                try:
                    row, said = runner.row(each)
                except AmdkernelError as error:
                    print(f"{each.name}: {error}", flush=True)
                    continue
                with RECORDED.open("a", newline="", encoding="utf-8") as file:
                    csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n").writerow(
                        asdict(row)
                    )
                if options.log:
                    with options.log.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(row) | said) + "\n")
        finally:
            runner.close()
        rows = recorded()
    print("\n".join([*lines(rows), candidates()]))


if __name__ == "__main__":
    main()
