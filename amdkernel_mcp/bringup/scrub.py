"""Takes names, addresses and serial numbers out of what was read of a machine; the same number becomes the same."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ADDRESSES = (
    re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])"),
    re.compile(r"(?<![0-9a-fA-F:])(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}(?![0-9a-fA-F:])"),
    re.compile(r"(?<![0-9a-fA-F:])(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{1,4}(?:%\w+)?(?![0-9a-fA-F:])"),
)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_HOME = re.compile(r"/(?:home|Users)/[^/\s\"':]+")
# The driver's numbers of one GPU or hive: decimal in `properties`, hexadecimal in `unique_id`.
_NUMBERS = re.compile(r"(?:unique_id|hive_id) (\d{5,20})(?!\d)")
_HEX = re.compile(r'unique_id": ?\{"text": ?"([0-9a-f]{8,16})|\bGPU-([0-9a-f]{16})\b')
_ESCAPED = r"(?<=\\n)|(?<=\\t)|(?<=\\r)"  # what lies before a word in the JSON of a text
FIRST_NUMBER = 0xA000000000000001
KEPT = frozenset({"root", "local", "localhost", "amd", "gpu", "host", "device", "render", "docker"})
"""Names that say nothing of a machine, and which its files use as words."""


def scrubbed(files: dict[str, bytes], names: Iterable[str]) -> dict[str, bytes]:
    """The files without `names` (of hosts and users), addresses, and the numbers of GPUs and hives."""
    texts = {path: data.decode(errors="replace") for path, data in files.items()}
    numbers: dict[int, int] = {}
    for text in texts.values():
        for found in _NUMBERS.findall(text):
            numbers.setdefault(int(found), FIRST_NUMBER + len(numbers))
        for pair in _HEX.findall(text):
            numbers.setdefault(int(pair[0] or pair[1], 16), FIRST_NUMBER + len(numbers))
    wanted = sorted({name for name in names if len(name) > 1 and name.lower() not in KEPT}, key=len, reverse=True)
    return {path: _scrub(text, numbers, wanted).encode() for path, text in texts.items()}


def _scrub(text: str, numbers: dict[int, int], names: list[str]) -> str:
    for number, stand_in in numbers.items():
        for form in ("{}", "{:016x}", "{:x}"):
            text = re.sub(
                rf"(?:(?<![0-9a-zA-Z])|{_ESCAPED}){form.format(number)}(?![0-9a-zA-Z])", form.format(stand_in), text
            )
    for name in names:
        text = re.sub(
            rf"(?:(?<![\w-])|{_ESCAPED}){re.escape(name)}(?:\.[\w-]+)*(?![\w-])", "NAME", text, flags=re.IGNORECASE
        )
    text = _HOME.sub("/home/NAME", _MAIL.sub("NAME", text))
    for pattern in _ADDRESSES:
        text = pattern.sub("ADDRESS", text)
    return text
