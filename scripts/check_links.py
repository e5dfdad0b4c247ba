"""Reports links of Markdown pages that lead nowhere: files that do not exist, headings that a page does not have.

Checks every tracked page, or those named. Addresses of other hosts are not fetched. Exits with 1 if a link is broken.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from check_english import ROOT, tracked_files

_FENCED = re.compile(r"^(\s*)(```+|~~~+).*?^\1?\2\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(
    r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s*(\S+)", re.MULTILINE
)
_HEADING = re.compile(r"^#{1,6} +(.*?)[ #]*$", re.MULTILINE)


def _blanked(text: str, *patterns: re.Pattern[str]) -> str:
    """The text with what matches replaced by as many lines of nothing."""
    for pattern in patterns:
        text = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    return text


def slug(heading: str) -> str:
    """The anchor that GitHub and mkdocs give a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page; a heading that comes again gets a number."""
    seen: dict[str, int] = {}
    found = set()
    for heading in _HEADING.findall(_blanked(page.read_text(encoding="utf-8"), _FENCED)):
        name = slug(heading)
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return frozenset(found)


def broken_links(page: Path) -> Iterator[tuple[int, str, str]]:
    """Line, target and reason of each link of a page that leads nowhere."""
    text = _blanked(page.read_text(encoding="utf-8"), _FENCED)
    code = _blanked(text, _CODE)
    for match in _LINK.finditer(text):
        target = match[1] or match[2]
        if re.match(r"[a-z][a-z+.-]*:", target) or code[match.start()] == " ":
            continue
        reason = _why_broken(page, unquote(target))
        if reason:
            yield text.count("\n", 0, match.start()) + 1, target, reason


def _why_broken(page: Path, target: str) -> str | None:
    if target.startswith("/"):
        return "write it relative to the page"
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    if not file.exists():
        return "no such file"
    if not file.is_relative_to(ROOT) and page.is_relative_to(ROOT):
        return "outside of the repository"
    if anchor and file.suffix == ".md" and anchor not in anchors(file):
        return "no such heading"
    return None


def main(arguments: list[str]) -> int:
    pages = arguments or [str(ROOT / name) for name in tracked_files(ROOT) if name.endswith(".md")]
    count = 0
    for name in pages:
        page = Path(name).resolve()
        shown = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
        for line, target, reason in broken_links(page):
            count += 1
            print(f"{shown}:{line}: {target}: {reason}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
