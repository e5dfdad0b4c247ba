"""YAML tables to sections, one per row: rocprofiler-sdk's counters and rocprof-compute's metrics.

The pages that a person reads are made of these files when the documentation is built; their own text is empty.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.quoting import one_line, visible
from amdkernel_mcp.search.formats.page import Page, Section
from amdkernel_mcp.search.formats.rst import rst_lines

_DERIVED = "derived"


def parse_yaml(path: str, text: str) -> list[Page]:
    """A page per hardware block or group of metrics. Raises DocumentationError for other YAML."""
    try:
        # libyaml reads the counters of all architectures in a tenth of the time.
        table = yaml.load(visible(text), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError) as error:
        raise DocumentationError(f"not YAML: {one_line(str(error))[:200]}", file=path) from None
    if isinstance(table, dict) and isinstance(table.get("rocprofiler-sdk"), dict):
        return _counters(path, table["rocprofiler-sdk"].get("counters"))
    if isinstance(table, dict) and all(isinstance(group, dict) for group in table.values()):
        return _metrics(path, table)
    raise DocumentationError("the YAML is not a table of counters or metrics", file=path)


def _counters(path: str, rows: object) -> list[Page]:
    """counter_defs.yaml: a list of counters, each with its event or expression by architecture."""
    blocks: dict[str, list[Section]] = {}
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict) or not isinstance(row.get("name"), str):
            continue
        definitions = [one for one in _list(row.get("definitions")) if isinstance(one, dict)]
        block = next((str(one["block"]) for one in definitions if one.get("block")), _DERIVED)
        title = f"Hardware counters: {block}"
        lines = [one_line(str(row.get("description") or "")), "", *map(_definition, definitions)]
        text = "\n".join(lines).strip()
        blocks.setdefault(block, []).append(Section((title, row["name"]), text, (row["name"],)))
    return [Page(f"{path}/{block}", f"Hardware counters: {block}", tuple(rows)) for block, rows in blocks.items()]


def _definition(definition: Mapping[str, Any]) -> str:
    architectures = ", ".join(map(str, _list(definition.get("architectures"))))
    if definition.get("expression"):
        return f"- {architectures}: `{definition['expression']}`"
    return f"- {architectures}: block {definition.get('block', '?')} event {definition.get('event', '?')}"


def _metrics(path: str, groups: Mapping[str, Mapping[str, Any]]) -> list[Page]:
    """metrics_description.yaml: groups of metrics, each with a description in reStructuredText and a unit."""
    pages = []
    for group, metrics in groups.items():
        title = f"Metrics: {group}"
        sections = tuple(
            Section((title, str(name)), "\n".join(_metric(said)).strip(), (str(name),))
            for name, said in metrics.items()
            if isinstance(said, dict)
        )
        if sections:
            pages.append(Page(f"{path}/{str(group).replace(' ', '_').replace('/', '_')}", title, sections))
    return pages


def _metric(said: Mapping[str, Any]) -> Iterator[str]:
    yield from rst_lines(one_line(str(said.get("rst") or said.get("plain") or "")).split("\n"))
    if said.get("unit"):
        yield ""
        yield f"Unit: {said['unit']}"


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else []
