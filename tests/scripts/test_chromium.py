"""The browser that tests drive is gone when they end, also where it never began."""

from pathlib import Path

import pytest

from scripts.chromium import Chromium
from tests.waiting import wait_until

# It ends at once and leaves a process behind, as a Chromium does whose pages are still rendered.
BROWSER = """#!/bin/sh
sleep 4713 3<&- 4>&- &
echo $! >{folder}/left
exit 3
"""


def test_a_browser_that_does_not_begin_leaves_no_process(tmp_path: Path) -> None:
    program = tmp_path / "browser"
    program.write_text(BROWSER.format(folder=tmp_path))
    program.chmod(0o755)
    with pytest.raises((RuntimeError, BrokenPipeError)):
        Chromium(str(program), tmp_path / "profile")
    left = Path(f"/proc/{(tmp_path / 'left').read_text().strip()}/stat")
    wait_until(lambda: not left.exists() or left.read_text().split()[2] == "Z", "what the browser began has ended")
