"""scripts/check_includes.py reports an include that breaks a rule of the rooms."""

from pathlib import Path

import pytest

from scripts.check_includes import violations


def reports(sandbox: Path, files: dict[str, str]) -> list[str]:
    for name, text in {"emulator.h": "", **files}.items():
        path = sandbox / "emulator" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return list(violations(sandbox))


def test_what_the_rooms_allow_is_not_reported(tmp_path: Path) -> None:
    files = {
        "machine/machine.h": '#include "emulator.h"\n',
        "isa/sop.c": '#include "isa/sop.h"\n#include "machine/machine.h"\nvoid sop_run(void)\n{\n}\n',
        "isa/sop.h": "void sop_run(void);\n",
    }
    assert reports(tmp_path, files) == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"isa/sop.c": '\n#include "hip/code/a.h"\n', "hip/code/a.h": ""},
            "isa/sop.c:2: includes hip/code/a.h; isa may include only: isa, emulator.h, machine, memory, checks, host",
        ),
        (
            {"hip/memory/pool.c": '#include "machine/machine.h"\n', "machine/machine.h": ""},
            "hip/memory/pool.c:1: includes machine/machine.h; hip/memory may include only: hip/memory, emulator.h, "
            "hip/runtime, hip/streams, hip/report",
        ),
        (
            {"isa/sop.c": '#include "sop.h"\n', "isa/sop.h": ""},
            "isa/sop.c:1: includes sop.h, which does not exist; paths start at sandbox/emulator",
        ),
        (
            {"isa/a.c": '#include "isa/b.h"\n', "isa/a.h": "", "isa/b.h": '#include "isa/a.h"\n'},
            "isa/a.c:1: closes a circle of files: isa/a -> isa/b -> isa/a",
        ),
        (
            {"isa/a.h": "\nint a_count(void);\n", "isa/b.c": "int a_count(void)\n{\n    return 1;\n}\n"},
            "isa/a.h:2: declares a_count, defined in isa/b.c; declare it in the header of its source",
        ),
        (
            {"isa/a.h": "int a_count(void);\n"},
            "isa/a.h:1: declares a_count, defined nowhere; declare it in the header of its source",
        ),
    ],
)
def test_a_planted_violation_is_reported_with_its_line(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    assert reports(tmp_path, files) == [expected]


def test_an_import_of_the_product_is_reported(tmp_path: Path) -> None:
    (tmp_path / "runner").mkdir()
    (tmp_path / "runner" / "main.py").write_text("import os\nfrom amdkernel_mcp import engine\n")
    assert reports(tmp_path, {}) == ["runner/main.py:2: the sandbox imports nothing of amdkernel_mcp"]


def test_a_circle_inside_the_streams_room_is_allowed(tmp_path: Path) -> None:
    files = {"hip/streams/a.h": '#include "hip/streams/b.h"\n', "hip/streams/b.h": '#include "hip/streams/a.h"\n'}
    assert reports(tmp_path, files) == []
