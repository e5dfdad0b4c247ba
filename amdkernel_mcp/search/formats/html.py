"""A rendered HTML page to sections: the text of its main part, headings as headings, code kept."""

from dataclasses import dataclass
from html.parser import HTMLParser

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.quoting import one_line, visible
from amdkernel_mcp.search.formats.page import Block, Page, page_from_blocks

_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_UNSEEN = frozenset(("script", "style", "nav", "footer", "head", "svg", "button", "noscript", "template"))
_BLOCK = frozenset(("p", "div", "li", "ul", "ol", "tr", "table", "section", "article", "br", "dt", "dd", "dl", "hr"))
_SIGNATURE_LEVEL = 7  # below any heading
_VOID = frozenset(
    ("br", "hr", "img", "input", "meta", "link", "wbr", "area", "base", "col", "embed", "source", "track")
)


def parse_html(path: str, text: str) -> Page:
    """The page that the HTML `text` holds; only its `<main>` or `role="main"` where there is one.

    A signature of Sphinx's domains (`<dt class="sig">`) is a heading of its own, called by its name: the entries of a
    library's reference are found like functions. Raises DocumentationError for text that is not HTML.
    """
    reader = _Reader(has_main='role="main"' in text or "<main" in text)
    try:
        reader.feed(_closed(visible(text)))
        reader.close()
    except AssertionError as error:  # how Python's parser ends at a broken `<![`
        raise DocumentationError(f"this is not HTML: {error}", file=path) from None
    reader.flush()
    return page_from_blocks(path, reader.blocks)


def _closed(text: str) -> str:
    """`text` with what is opened and never closed as plain text: Python's parser reads the rest again for each."""
    end = text.rfind(">") + 1
    text = text[:end] + text[end:].replace("<", "&lt;")
    end = text.rfind("-->") + 1
    return text[:end] + text[end:].replace("<!--", "&lt;!--")


@dataclass
class _Signature:
    """The `<dt>` of a declaration; `name_begins` is where its name is in the running text."""

    anchor: str
    line: int
    name_begins: int | None = None
    name: str | None = None


class _Reader(HTMLParser):
    def __init__(self, *, has_main: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks = [Block(0, "", 1)]
        self._has_main = has_main
        self._open: list[str] = []
        self._main_depth: int | None = None
        self._text: list[str] = []
        self._heading: str | None = None
        self._pre = 0
        self._ids: list[str] = []
        self._cells = ""
        self._signature: _Signature | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag not in _VOID:
            self._open.append(tag)
        if self._main_depth is None and (tag == "main" or named.get("role") == "main"):
            self._main_depth = len(self._open)
        if named.get("id") and tag in ("section", "div", "dt", "span", *_HEADINGS):
            self._ids = [*self._ids[-3:], str(named["id"])]
        if tag in _HEADINGS and self._seen():
            self.flush()
            self._heading = tag
        elif tag == "dt" and "sig" in (named.get("class") or "").split() and self._seen():
            self.flush()
            self._signature = _Signature(str(named.get("id") or ""), self.getpos()[0])
        elif self._signature and "sig-name" in (named.get("class") or "").split():
            self._signature.name_begins = len("".join(self._text))
        elif tag == "pre":
            self.flush()
            self._pre += 1
            self._text.append("```\n")
        elif tag in _BLOCK and not self._pre:
            self.flush()
            self._text.append("- " if tag == "li" else "")
        elif tag in ("td", "th"):
            self._text.append(" | ")
            self._cells += tag

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open and self._open.pop() != tag:
                pass
        if tag == self._heading:
            heading = one_line("".join(self._text)).rstrip("¶#").strip()
            self._text, self._heading = [], None
            if heading:
                self.blocks.append(Block(int(tag[1]), heading, self.getpos()[0], self._ids[-1:]))
        elif tag == "dt" and self._signature:
            self._end_signature(self._signature)
        elif self._signature and self._signature.name_begins is not None and self._signature.name is None:
            self._signature.name = "".join(self._text)[self._signature.name_begins :]
        elif tag == "tr":
            self.flush()
            if self._cells and not self._cells.replace("th", ""):
                self.blocks[-1].lines.insert(len(self.blocks[-1].lines) - 1, "| --- |")
            self._cells = ""
        elif tag == "pre" and self._pre:
            self._text.append("\n```")
            self._keep()
            self._pre -= 1
        elif tag in _BLOCK and not self._pre:
            self.flush()
        if self._main_depth is not None and len(self._open) < self._main_depth:
            self._main_depth = -1

    def handle_data(self, data: str) -> None:
        if self._seen():
            self._text.append(visible(data))  # a character reference may stand for an invisible character

    def _end_signature(self, signature: "_Signature") -> None:
        declared = one_line("".join(self._text)).rstrip("¶#").strip()
        self._text, self._signature = [], None
        name = one_line(signature.name or "") or declared[:80]
        if name:
            labels = [signature.anchor] if signature.anchor else []
            block = Block(_SIGNATURE_LEVEL, name, signature.line, labels, [f"`{declared}`", ""])
            self.blocks.append(block)

    def flush(self) -> None:
        """Keeps the running text as one line."""
        if self._heading is None and self._signature is None and not self._pre:
            self._text = [one_line("".join(self._text)).replace("¶", "")]
            self._keep()

    def _keep(self) -> None:
        text = "".join(self._text).strip("\n")
        self._text = []
        if text.strip(" -|`\n"):
            self.blocks[-1].lines += [*text.split("\n"), ""]

    def _seen(self) -> bool:
        if self._has_main and (self._main_depth is None or self._main_depth < 0):
            return False
        return not any(tag in _UNSEEN for tag in self._open)
