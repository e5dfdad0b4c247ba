"""Hooks of mkdocs: what makes the pages of docs/, written for the repository, work as a web site of their own."""

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]\n]+)\]\(\.\./((?:\.\./)*[^)\s#]+)[^)\s]*\)")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page, with links to files outside of docs/ replaced by their paths: the site does not have those files."""
    depth = page.file.src_uri.count("/")

    def shown(link: re.Match[str]) -> str:
        target = link[2]
        if target.count("../") < depth:  # ../ within docs/
            return link[0]
        path = target.replace("../", "")
        return f"`{path}`" if link[1].strip("`") == path else f"{link[1]} (`{path}`)"

    parts = _FENCED.split(markdown)
    return "".join(part if part.startswith("```") else _OUTSIDE.sub(shown, part) for part in parts)
