"""Loader, coverage report, decoder and wave loop on untrusted bytes, under ASan and UBSan.

The corpus runs first, then fresh inputs of each kind: as many and the same each time, or, with AMDK_FUZZ_S,
others for so many seconds. To minimise a corpus that has grown:
`build/fuzz/target -merge=1 SMALL LARGE`, then zip the files of SMALL.
"""

import os
import re
import zipfile
from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

CORPUS = Path(__file__).parent / "corpus.zip"
FRESH_S = int(os.environ.get("AMDK_FUZZ_S", "0"))  # of each kind of input, after the whole corpus
FRESH = 2_000  # inputs of each kind where no time is asked for: a busy machine tries as many
RANDOM_WORDS = 120_000  # about ten of 100,000 make LLVM's disassembler crash

FUZZ = """
export ASAN_OPTIONS=detect_leaks=0 TMPDIR=$OUT
make -j2 -s -C /opt/amdkernel/emulator BUILD=$PWD/build fuzz || exit 1
for kind in files code; do
    FUZZ_ONLY=$kind build/fuzz/target $1 $2 -timeout=100 -rss_limit_mb=3000 -detect_leaks=0 \\
        -max_len=20000 -print_final_stats=1 -artifact_prefix=$OUT/found- corpus >$OUT/$kind 2>&1 || failed=1
done
exit ${failed:-0}
"""

WORDS = """
bin=$(ls -d /usr/lib/llvm-*/bin | sort -V | tail -1)
export TMPDIR=$OUT
$bin/clang -O1 -march=x86-64-v3 -I/opt/amdkernel/emulator random_words.c \\
    /opt/amdkernel/emulator/decode/disassembler.c \\
    /opt/amdkernel/emulator/decode/crash_recovery.c -o words -ldl -pthread || exit 1
for arch in gfx90a gfx942 gfx950 gfx1100 gfx1201; do
    ./words $arch {count} >>$OUT/said || exit 1
done
"""


@pytest.mark.thorough  # a build of the whole emulator under two sanitizers
@pytest.mark.timeout(1500 + 2 * FRESH_S)
def test_no_input_crashes_the_emulator(sandbox: Sandbox) -> None:
    with zipfile.ZipFile(CORPUS) as archive:
        corpus = {f"corpus/{name}": archive.read(name) for name in archive.namelist()}
    until = [f"-max_total_time={FRESH_S}", "-seed=0"] if FRESH_S else [f"-runs={len(corpus) + FRESH}", "-seed=1"]
    done = sandbox.run("compile", ["sh", "-c", FUZZ, "fuzz", *until], corpus, timeout_s=1200 + 2 * FRESH_S)
    reports = {kind: done.files.get(kind, b"").decode(errors="replace") for kind in ("files", "code")}
    assert done.exit_code == 0, done.stderr + "\n".join(text[-3000:] for text in reports.values())
    for kind, text in reports.items():
        runs = re.search(r"number_of_executed_units: (\d+)", text)
        assert runs, text[-1000:]
        assert int(runs[1]) > len(corpus), f"{kind}: {runs[1]} inputs only, and {len(corpus)} are in the corpus"


@pytest.mark.thorough
def test_words_that_crash_the_disassembler_are_no_instructions(sandbox: Sandbox) -> None:
    files = {"random_words.c": (Path(__file__).parent / "random_words.c").read_bytes()}
    done = sandbox.run("compile", ["sh", "-c", WORDS.format(count=RANDOM_WORDS)], files, timeout_s=500)
    assert done.exit_code == 0, done.stderr
    said = [line.split() for line in done.files["said"].decode().splitlines()]
    assert [arch for arch, _ in said] == ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"]
    assert all(int(known) > RANDOM_WORDS // 5 for _, known in said), said
