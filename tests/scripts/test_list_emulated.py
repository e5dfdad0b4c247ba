"""docs_index/emulated.tsv, which cards of instructions read, agrees with the emulator."""

from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox
from scripts.list_emulated import COVERAGE, MNEMONICS, REPORTS, table

TABLE = MNEMONICS.with_name("emulated.tsv")


@pytest.mark.sandbox
def test_the_committed_table_is_what_the_emulator_reports(sandbox: Sandbox) -> None:
    commands = [f"{COVERAGE} {' '.join(options)} >$OUT/{name}" for name, options in REPORTS.items()]
    done = sandbox.run("run", ["sh", "-c", "\n".join(("set -e", *commands))], {}, timeout_s=60)
    assert done.exit_code == 0, done.stderr
    reports = {name: done.files[name].decode().splitlines() for name in REPORTS}
    assert TABLE.read_text(encoding="utf-8") == table(reports, MNEMONICS.read_text(encoding="utf-8")), (
        f"{Path('docs_index', TABLE.name)} is out of date: run scripts/list_emulated.py"
    )


def test_a_name_that_only_the_assembler_accepts_counts_where_it_has_a_row() -> None:
    reports: dict[str, list[str]] = {name: [] for name in REPORTS}
    reports["rows"] = ['"ds_read_b32"']
    reports["gfx942"] = ['{"mnemonic": "ds_read_b32", "known": true}', '{"mnemonic": "s_trap", "known": false}']
    lines = table(reports, "ds_read_b32\tgfx942 gfx1100\ns_trap\tgfx942\n").splitlines()
    assert lines[1:] == ["ds_read_b32\tgfx942 gfx1100"]
