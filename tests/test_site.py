"""The documentation builds as a web site that needs no other host."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


def test_every_page_of_the_folder_becomes_a_page_of_the_site(site: Path) -> None:
    pages = {page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")}
    pages = {page.with_name(page.name.replace("README", "index")) for page in pages}
    assert len(pages) > 15
    assert {page for page in pages if not (site / page).exists()} == set()


def test_a_page_loads_nothing_from_another_host(site: Path) -> None:
    loaded = r'<(?:script|img|iframe|source)[^>]+src="(?:https?:)?//|<link[^>]+href="(?:https?:)?//|url\((?:https?:)?//'
    for page in site.rglob("*.html"):
        assert re.findall(loaded, page.read_text(encoding="utf-8")) == [], page
    for style in site.rglob("*.css"):
        assert re.findall(r"url\([\"']?(?:https?:)?//", style.read_text(encoding="utf-8")) == [], style


def test_links_to_files_outside_of_the_pages_are_shown_as_paths(site: Path) -> None:
    for page in set(site.rglob("*.html")) - {site / "404.html"}:  # that one is shown at any address
        inside = page.parent.resolve()
        for link in re.findall(r'<a[^>]+href="([^"#:]+)[^":]*"', page.read_text(encoding="utf-8")):
            assert (inside / link).exists(), f"{page.name}: {link}"
