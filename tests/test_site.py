"""The documentation's site builds without a dead link, has the public names, and asks the network for nothing."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from browser import PHONE, chromium, overflows, watch

import lengthwise

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_is_there_and_every_picture_and_file_that_one_links(site):
    sources = {path.stem for path in (ROOT / "docs").glob("*.md")} | {"index", "CONTRIBUTING", "CHANGELOG"}
    pages = {path.stem: path.read_text() for path in site.glob("*.html") if path.stem != "404"}
    assert pages.keys() == sources
    for name, text in pages.items():
        linked = re.findall(r'(?:src|href)="(?!https:|data:)([^"#?]+)', text)
        assert len(linked) > 10 and [link for link in linked if not (site / link).exists()] == [], name


def test_the_api_has_every_public_name(site):
    text = (site / "api.html").read_text()
    assert [name for name in lengthwise.__all__ if f'id="lengthwise.{name}"' not in text] == []
    assert 'id="lengthwise.records.schema.Record.metric"' in text


def test_formulas_are_drawn_and_none_is_left_as_text(site):
    theory = (site / "theory.html").read_text()
    assert theory.count("<math") > 200 and 'display="block"' in theory
    assert not re.search(r"arithmatex|\\(frac|beta|sum)", theory)


def test_a_page_opens_on_a_phone_and_asks_the_network_for_nothing(site):
    with chromium() as browser:
        page = browser.new_context(viewport=PHONE).new_page()
        seen = watch(page)
        for name in ("index", "results", "architecture"):
            page.goto((site / f"{name}.html").as_uri())
            assert page.locator("h1").is_visible() and not overflows(page)
        seen.assert_quiet()


def test_a_notebook_is_shown_with_what_its_code_printed_and_drew():
    notebook_text = runpy.run_path(str(ROOT / "scripts" / "docs_site.py"))["notebook_text"]
    outputs = [
        {"output_type": "stream", "text": ["100\n", "0\n"]},
        {"output_type": "execute_result", "data": {"text/plain": ["'holds'"], "text/html": ["<b>holds</b>"]}},
        {"output_type": "display_data", "data": {"text/plain": ["<Figure>"], "image/png": "iVBO\n"}},
    ]
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "words"]},
        {"cell_type": "code", "source": ["print(100)"], "outputs": outputs},
    ]
    text = notebook_text({"cells": cells})
    assert text.startswith("# Title\nwords\n\n```python\nprint(100)\n```\n\n```text\n100\n0\n")
    assert "'holds'" in text and "<b>" not in text
    assert text.endswith("(data:image/png;base64,iVBO)")
