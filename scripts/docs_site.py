"""What mkdocs does for the site besides docs/: the README as home, files that pages link, formulas, notebooks."""

import html
import json
import os
import re
from pathlib import Path
from typing import Any

import griffe
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
HOME = ROOT / "README.md"
PAGES = (HOME, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md")
"""Outside docs/."""
NOTEBOOKS = sorted(DOCS.glob("notebooks/*.ipynb"))

LINK = re.compile(r"\]\(([^():#\s]+)((?:#[^()\s]*)?)\)")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
DOCTEST = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)


def place(path: Path) -> str:
    """Where a file of the repository is on the site: docs/ and the rest side by side."""
    if path == HOME:
        return "index.md"
    path = path.with_suffix(".md") if path in NOTEBOOKS else path
    return (path.relative_to(DOCS) if path.is_relative_to(DOCS) else path.relative_to(ROOT)).as_posix()


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Notebooks come last of those pages that show how to use it."""
    use = next(section["Use"] for section in config.nav or [] if "Use" in section)
    use += [{path.stem.replace("-", " ").capitalize(): place(path)} for path in NOTEBOOKS]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds notebooks, pages outside docs/, and every file there that a page links: figures, tables, tests."""
    notebooks = {path: notebook_text(json.loads(path.read_text())) for path in NOTEBOOKS}
    texts = notebooks | {path: path.read_text() for path in (*PAGES, *DOCS.glob("*.md"))}
    linked = {(path.parent / link).resolve() for path, text in texts.items() for link, _ in LINK.findall(text)}
    for path in sorted({*PAGES, *(path for path in linked if path.is_file() and not path.is_relative_to(DOCS))}):
        files.append(File.generated(config, place(path), abs_src_path=str(path)))
    for path, text in notebooks.items():
        files.append(File.generated(config, place(path), content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links follow the folders of the repository; on the site they follow its own."""
    source = Path(page.file.abs_src_path or DOCS / page.file.src_uri)

    def moved(link: re.Match[str]) -> str:
        target = (source.parent / link[1]).resolve()
        if not target.is_file():  # left for mkdocs to complain about
            return link[0]
        return f"]({os.path.relpath(place(target), Path(page.file.src_uri).parent)}{link[2]})"

    return LINK.sub(moved, markdown)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Formulas become MathML, which browsers draw without a script."""

    def drawn(formula: re.Match[str]) -> str:
        return convert(html.unescape(formula[2]), display="block" if formula[1] == "div" else "inline")

    return FORMULA.sub(drawn, content)


def notebook_text(notebook: dict[str, Any]) -> str:
    """A notebook as Markdown: its text, its code, and what that printed or drew."""
    parts: list[str] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += map(_output_text, cell.get("outputs", []))
    return "\n\n".join(parts)


def _output_text(output: dict[str, Any]) -> str:
    shown = output.get("data", {"text/plain": output.get("text", "")})
    if picture := shown.get("image/png"):
        return f"![What this code draws](data:image/png;base64,{''.join(picture).strip()})"
    return f"```text\n{''.join(shown['text/plain'])}\n```"


class Doctests(griffe.Extension):
    """Examples in docstrings are shown as code."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = DOCTEST.sub("```pycon\n\\g<0>\n```", obj.docstring.value)
