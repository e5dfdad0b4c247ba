"""Splits an `llms-full.txt` into its pages.

Sphinx sites that generate one (rocm-docs-core from 1.38) join their pages as `---`, an empty line, `Source: <canonical
URL>`, an empty line and the page's Markdown.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from amdkernel_mcp.errors import DocumentationError

# A rule before it: `Source:` may occur in a page's own text, below a figure for instance.
_PAGE = re.compile(r"(?:\A\s*|^---[ \t]*\n\s*\n)Source:[ \t]+(https?://\S+)[ \t]*\n\s*\n", re.MULTILINE)
_SAFE_PATH = re.compile(r"[\w.+-]+(?:/[\w.+-]+)*")


@dataclass(frozen=True)
class LlmsPage:
    """`path` is relative to the site and ends in .md."""

    path: str
    text: str


def pages_of_llms(text: str, base: str, skipped: list[str]) -> Iterator[LlmsPage]:
    """The pages of the file `text`, which was fetched below `base`; why one is left out goes to `skipped`.

    Raises DocumentationError where the text holds no page: an error page, or another file.
    """
    text = text.replace("\r\n", "\n")
    marks = list(_PAGE.finditer(text))
    if not marks:
        raise DocumentationError("this is not an llms-full.txt: no line begins with `Source: https://`")
    for at, mark in enumerate(marks):
        end = marks[at + 1].start() if at + 1 < len(marks) else len(text)
        path = _path(mark[1], base)
        if path is None:
            skipped.append(f"{mark[1]}: no page of {base}")
        else:
            yield LlmsPage(path, text[mark.end() : end].strip() + "\n")


def _path(url: str, base: str) -> str | None:
    """Where a page is kept: its address below the site. The addresses are the site's words and may be anything."""
    page, site = urlsplit(url), urlsplit(base)
    below = unquote(page.path)
    # A site may be read at one version and call itself by another: `latest` and `docs-7.2.3` are the same tree.
    root = re.sub(r"/en/[^/]+/$", "/en/", site.path)
    if page.hostname != site.hostname or not below.startswith(root):
        return None
    below = below[len(root) :]
    below = below.split("/", 1)[-1] if root != site.path and "/" in below else below
    path = re.sub(r"\.html?$", "", below.strip("/")) or "index"
    return f"{path}.md" if _SAFE_PATH.fullmatch(path) and ".." not in path.split("/") else None
