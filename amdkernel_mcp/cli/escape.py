"""Foreign text made safe for a terminal: source lines, kernel names and compiler messages may hold anything."""

import re

# Control characters but tab and newline, marks that reorder or break lines, and halves of surrogate pairs, which cannot
# be written as UTF-8. Escape sequences could move the cursor, hide text, or type into the user's shell.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""The text with each such character spelt out, as in `\x1b[31m`. What is visible stays as it is."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
