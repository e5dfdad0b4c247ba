"""The terminal in the README is a run of its commands, small, readable, and loads nothing from elsewhere."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from scripts import record_terminal

ROOT = Path(__file__).resolve().parents[2]


def text_of(svg: str) -> str:
    """The words of the picture, line by line."""
    lines: dict[str, str] = {}
    for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        place = element.get("clip-path") or "title"
        lines[place] = lines.get(place, "") + "".join(element.itertext())
    return "\n".join(lines.values()).replace("\xa0", " ")


def shape_of(text: str) -> str:
    """Without what differs from run to run: numbers, drawn sizes, ids, and how they are wrapped.

    Further cases run where the drawn ones left code unrun, which is a matter of the draw.
    """
    plain = " ".join(re.sub(r"attempt \S+|[-+.\de]*\d|drawn", "", text).split())
    return re.sub(r"; more cases? with one seed", "", plain)


def test_the_picture_shows_commands_of_the_readme_and_is_self_contained() -> None:
    svg = record_terminal.FILE.read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "docs/terminal.svg" in readme
    assert len(svg) < 64_000
    assert not re.findall(r"(?:href|src|url)\s*[=(]\s*[\"']?(?:https?:)?//", svg)
    words = text_of(svg)
    for command in record_terminal.COMMANDS:
        assert command in words
        assert command in readme


def test_the_shape_of_a_run_does_not_hang_on_the_draw() -> None:
    assert shape_of("error 2e-07; 1 more drawn case with one seed").split() == shape_of("error\n1e-07").split()


def test_the_words_stand_out_from_the_window() -> None:
    theme = record_terminal.THEME
    back = sum(theme.background_color)
    for number in (1, 2, 3, 4, 5, 6, 7):
        assert sum(theme.ansi_colors[number]) > back + 250


@pytest.mark.sandbox
@pytest.mark.thorough
def test_the_picture_is_what_the_commands_print_now() -> None:
    drawn = shape_of(text_of(record_terminal.FILE.read_text(encoding="utf-8")))
    run = {command: record_terminal.run(command) for command in record_terminal.COMMANDS}
    now = shape_of(text_of(record_terminal.as_svg(run)))
    assert sorted(set(drawn.split())) == sorted(set(now.split()))
