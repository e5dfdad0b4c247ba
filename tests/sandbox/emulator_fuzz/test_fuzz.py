"""Half a minute of libFuzzer on the loader, the report, the decoder and the wave loop, under ASan and UBSan."""

from pathlib import Path

import pytest

from amdkernel_mcp.execution.sandbox import Sandbox

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(900)]

HERE = Path(__file__).parent
SECONDS = 30

SCRIPT = f"""
set -e
make -C /opt/amdkernel/emulator BUILD=$PWD/objects LIBRARY=$PWD/library.so fuzz -j2 >/dev/null
mkdir found
objects/fuzz/target -max_total_time={SECONDS} -max_len=4200 -rss_limit_mb=1024 -timeout=30 -artifact_prefix=$OUT/ \
    found corpus 2>$OUT/log || {{ grep -a -m1 -A12 'ERROR\\|runtime error' $OUT/log >&2; exit 1; }}
"""


def test_no_input_breaks_the_loader_the_decoder_or_a_wave(sandbox: Sandbox) -> None:
    corpus = {f"corpus/{path.name}": path.read_bytes() for path in (HERE / "corpus").iterdir()}
    done = sandbox.run("compile", ["sh", "-c", SCRIPT], corpus, timeout_s=700)
    found = [name for name in done.files if name != "log"]
    assert done.exit_code == 0, f"{found}: {done.stderr[-3000:]}"
    assert b"Done " in done.files["log"][-400:], done.files["log"][-400:]
