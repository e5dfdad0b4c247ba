"""What imports of a folder of PyTorch modules, and whether the drafted kernels are right: a Markdown table.

`python benchmarks/import_problems.py FOLDER [--check]`; takes half a minute for each module.
"""

import argparse
import tempfile
import time
from pathlib import Path

from amdkernel_mcp.config import load_settings
from amdkernel_mcp.engine.engine import Engine
from amdkernel_mcp.engine.verbs.check import Check
from amdkernel_mcp.errors import AmdkernelError


def row(engine: Engine, file: Path, to: Path, *, check: bool) -> tuple[str, str, str]:
    """The row of one module: its name, what became of it, the drafted kernel."""
    began = time.monotonic()
    try:
        made = engine.imports.problem(file, to=to)
    except AmdkernelError as error:
        return file.stem, "no", f"{error.message}"
    seconds = f"{time.monotonic() - began:.0f} s"
    if not made.kernel_is_whole:
        return file.stem, f"yes, {seconds}", made.warnings[-1]
    if not check:
        return file.stem, f"yes, {seconds}", "drafted"
    try:
        verdict = engine.do(Check(problem=made.folder, source=Path(made.kernel).read_text(encoding="utf-8")))
    except AmdkernelError as error:
        return file.stem, f"yes, {seconds}", f"not judged: {error.message}"
    return file.stem, f"yes, {seconds}", f"drafted, {verdict.verdict}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true", help="judge the drafted kernels as well")
    options = parser.parse_args()
    engine = Engine(load_settings())
    print("| module | imported | kernel |\n| --- | --- | --- |")
    try:
        for file in sorted(options.folder.rglob("*.py")):
            with tempfile.TemporaryDirectory() as temporary:
                print("| " + " | ".join(row(engine, file, Path(temporary), check=options.check)) + " |", flush=True)
    finally:
        engine.close()


if __name__ == "__main__":
    main()
