"""Record docs/terminal.svg: two commands of the README, run now, as a terminal shows them.

By hand after a change of what `check` prints: `python scripts/record_terminal.py`. Needs the sandbox.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich import console as rich_console
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs/terminal.svg"
COLUMNS = 92
KERNELS = "examples/row_softmax/kernels"
COMMANDS = (
    f"amdkernel check row_softmax {KERNELS}/broken_tail.hip",
    f"amdkernel check row_softmax {KERNELS}/better.hip",
)
# A dark window with light text is readable on a light page and on a dark one.
THEME = TerminalTheme(
    (22, 27, 34),
    (230, 237, 243),
    [(72, 79, 88), (255, 123, 114), (86, 211, 100), (227, 179, 65),
     (121, 192, 255), (210, 168, 255), (118, 227, 234), (230, 237, 243)],
)  # fmt: skip
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace"


def run(command: str) -> str:
    """What the command prints to a terminal with colours, in a history of its own."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "AMDKERNEL_DATA_DIR": folder}
        program, *arguments = command.split()
        ended = subprocess.run(
            [str(Path(sys.executable).with_name(program)), *arguments],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
        )
    if ended.returncode not in (0, 1):
        raise SystemExit(f"{command} ended with {ended.returncode}")
    return ended.stdout.decode()


def as_svg(runs: dict[str, str]) -> str:
    """The outputs below their commands, as one picture that loads nothing from elsewhere."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=COLUMNS + 2, file=nowhere, force_terminal=True, color_system="truecolor")
        for command, output in runs.items():
            console.print(Text.assemble(("$ ", "bold green"), (command, "bold")), soft_wrap=True)
            console.print(Text.from_ansi(output.rstrip("\n")), soft_wrap=True)
            console.print()
        template: str = rich_console.CONSOLE_SVG_FORMAT  # type: ignore[attr-defined]
        template = re.sub(r"@font-face \{\{.*?\}\}\s*", "", template, flags=re.DOTALL)
        for font in ("Fira Code, monospace", "arial"):
            template = template.replace(f"font-family: {font}", f"font-family: {_FONT}")
        return console.export_svg(title="amdkernel", theme=THEME, code_format=template, unique_id="terminal")


if __name__ == "__main__":
    FILE.write_text(as_svg({command: run(command) for command in COMMANDS}), encoding="utf-8")
    print(f"{FILE} {FILE.stat().st_size / 1000:.0f} kB")
