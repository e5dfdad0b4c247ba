"""Every instruction of an architecture that the emulator claims to know is run by a test."""

import json

import pytest
from tested import mnemonics_of_tests

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

COVERAGE = "/opt/amdkernel/emulator/build/coverage-report"
ARCHS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
ELSEWHERE = {"s_endpgm"}  # ends every line's kernel


@pytest.fixture(scope="module")
def reports(sandbox: Sandbox) -> dict[str, list[str]]:
    commands = [f"{COVERAGE} --rows >$OUT/rows", *(f"{COVERAGE} --arch {arch} >$OUT/{arch}" for arch in ARCHS)]
    done = sandbox.run("run", ["sh", "-c", "\n".join(("set -e", *commands))], {}, timeout_s=300)
    assert done.exit_code == 0, done.stderr
    return {name: done.files[name].decode().splitlines() for name in ("rows", *ARCHS)}


@pytest.mark.parametrize("arch", ARCHS)
def test_every_instruction_that_is_known_has_a_test(reports: dict[str, list[str]], arch: str) -> None:
    forms = [json.loads(line) for line in reports[arch]]
    known = {form["mnemonic"] for form in forms if form["known"]}
    assert len(known) > 800
    missing = sorted(known - mnemonics_of_tests() - ELSEWHERE)
    assert not missing, f"{len(missing)} instructions of {arch} have no line in a test: {missing}"


def test_no_mnemonic_has_two_rows(reports: dict[str, list[str]]) -> None:
    rows = reports["rows"]
    assert len(rows) > 1100
    assert sorted(rows) == sorted(set(rows))
