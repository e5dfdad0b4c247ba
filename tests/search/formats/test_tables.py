"""YAML tables: one section per counter or metric."""

from pathlib import Path

import pytest

from amdkernel_mcp.errors import DocumentationError
from amdkernel_mcp.search.formats.tables import parse_yaml
from amdkernel_mcp.search.index.build import build_index
from amdkernel_mcp.search.index.index import open_index
from amdkernel_mcp.search.query.search import search

COUNTERS = """
rocprofiler-sdk:
  counters-schema-version: 1
  counters:
  - name: EX_WAVES
    description: 'Waves sent to the example block.'
    definitions:
    - architectures: [gfx90a, gfx942]
      block: EX
      event: 4
  - name: ExOccupancy
    description: Mean waves.
    definitions:
    - architectures: [gfx942]
      expression: reduce(EX_WAVES,sum)/64
"""
METRICS = """
Example launch stats:
  Grid Size:
    rst: The work-items of the :ref:`dispatch <desc-dispatch>`.
    unit: Work-items
"""


def test_a_counter_has_its_event_or_its_formula_by_architecture() -> None:
    pages = {page.path: page for page in parse_yaml("counter_defs.yaml", COUNTERS)}
    waves = pages["counter_defs.yaml/EX"].sections[0]
    assert waves.breadcrumb == ("Hardware counters: EX", "EX_WAVES")
    assert waves.text == "Waves sent to the example block.\n\n- gfx90a, gfx942: block EX event 4"
    derived = pages["counter_defs.yaml/derived"].sections[0]
    assert "- gfx942: `reduce(EX_WAVES,sum)/64`" in derived.text


def test_a_metric_has_its_description_as_text_and_its_unit() -> None:
    (page,) = parse_yaml("metrics_description.yaml", METRICS)
    assert page.sections[0].heading == "Grid Size"
    assert page.sections[0].text == "The work-items of the dispatch.\n\nUnit: Work-items"


@pytest.mark.parametrize(
    "text", ["a: [", "- 1\n- 2\n", "just text", "a: 1\n", "a: !!python/object/apply:os.getcwd []\n"]
)
def test_other_yaml_is_refused(text: str) -> None:
    with pytest.raises(DocumentationError):
        parse_yaml("ci.yaml", text)


def test_rows_that_another_source_has_as_text_are_not_found_twice(tmp_path: Path) -> None:
    for name, text in (
        ("a-tables/counter_defs.yaml", COUNTERS),
        ("b/EX.md", "# Counters\n\n## EX_WAVES\n\nWaves sent to the example block.\n\n- gfx942: block EX event 4\n"),
    ):
        (tmp_path / "c" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "c" / name).write_text(text)
    (tmp_path / "c/SOURCES.json").write_text('[{"source": "a-tables"}, {"source": "b"}]')
    build_index([tmp_path / "c"], tmp_path / "i.db")
    with open_index(tmp_path / "i.db") as index:
        assert [hit.source for hit in search(index, "EX_WAVES").results if hit.heading.endswith("EX_WAVES")] == ["b"]
        assert search(index, "ExOccupancy").results[0].source == "a-tables"
