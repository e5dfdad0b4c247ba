"""No row of the emulator's tables is without a test, and no test is without a row."""

import json

import pytest
from tested import mnemonics_of_tests

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

COVERAGE = "/opt/amdkernel/emulator/build/coverage-report"
# Run by what surrounds every line, or for the RDNA architectures alone and tested with their whole kernels.
ELSEWHERE = {"s_endpgm", "s_inst_prefetch", "v_fmac_f16"}


@pytest.fixture(scope="module")
def rows(sandbox: Sandbox) -> list[str]:
    done = sandbox.run("run", ["sh", "-c", f"{COVERAGE} --rows >$OUT/rows"], {}, timeout_s=60)
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.files["rows"].decode().splitlines()]


def test_every_row_has_a_test(rows: list[str]) -> None:
    missing = sorted(set(rows) - mnemonics_of_tests() - ELSEWHERE)
    assert not missing, f"{len(missing)} rows have no line in a test: {missing}"


def test_no_mnemonic_has_two_rows(rows: list[str]) -> None:
    assert len(rows) == len(set(rows)) > 1100
