"""Texts that must not change by accident: compared with files next to the test, accepted with ACCEPT_SNAPSHOTS=1."""

import os
from pathlib import Path


def assert_snapshot(file: Path, text: str) -> None:
    """Fail unless `file` holds `text`; with ACCEPT_SNAPSHOTS=1 write it there instead."""
    if os.environ.get("ACCEPT_SNAPSHOTS"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    known = file.read_text(encoding="utf-8") if file.exists() else ""
    assert text == known, f"{file.name} changed: look at the difference, then accept it with ACCEPT_SNAPSHOTS=1"
