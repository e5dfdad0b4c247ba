"""Inside the sandbox: which instructions of the files 0, 1, … the emulator does not know, with their source lines.

`report_coverage.py TOOL COUNT` or `report_coverage.py TOOL --arch ARCH`; the answer is $OUT/coverage.jsonl, the lines
of emulator/coverage/coverage.c, each missing instruction with `line`: "FILE:LINE" of the outermost call, or null.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDERS = ("/usr/lib/llvm-22/bin", "/usr/lib/llvm-21/bin", "/opt/rocm/llvm/bin")


def main() -> int:
    """Write the answer; the tool's exit code."""
    tool, *arguments = sys.argv[1:]
    out = Path(os.environ["OUT"])
    with tempfile.TemporaryDirectory(dir=out) as folder:
        if arguments[0] == "--arch":
            command = [tool, *arguments]
        else:
            command = [tool, folder, *(str(number) for number in range(int(arguments[0])))]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        images = [json.loads(line) for line in done.stdout.splitlines()]
        for image in images:
            if image.get("missing"):
                add_lines(image, Path(folder) / f"{image['file']}.{image['image']}.elf")
    (out / "coverage.jsonl").write_text("".join(json.dumps(image) + "\n" for image in images))
    return done.returncode


def add_lines(image: dict[str, Any], elf: Path) -> None:
    """Set `line` of every missing instruction."""
    lines = source_lines(elf, [missing["address"] for missing in image["missing"]])
    for missing, line in zip(image["missing"], lines, strict=True):
        missing["line"] = line


def source_lines(elf: Path, addresses: list[int]) -> list[str | None]:
    """`FILE:LINE` for each address; None without debug data or a symbolizer."""
    symbolizer = shutil.which("llvm-symbolizer", path=os.pathsep.join((*FOLDERS, os.environ.get("PATH", ""))))
    if not symbolizer or not elf.exists():
        return [None] * len(addresses)
    command = [symbolizer, f"--obj={elf}", "--output-style=JSON", "--basenames"]
    asked = "".join(f"{address:#x}\n" for address in addresses)
    done = subprocess.run(command, input=asked, stdout=subprocess.PIPE, text=True, check=False)
    found = [outermost(json.loads(line).get("Symbol") or []) for line in done.stdout.splitlines()]
    return found if len(found) == len(addresses) else [None] * len(addresses)


def outermost(frames: list[dict[str, Any]]) -> str | None:
    """The line in the function itself, not in what was inlined into it."""
    frame = frames[-1] if frames else {}
    return f"{frame['FileName']}:{frame['Line']}" if frame.get("FileName") and frame.get("Line") else None


if __name__ == "__main__":
    sys.exit(main())
