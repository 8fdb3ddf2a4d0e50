"""What functions print on a console as text, for a Python prompt, and as HTML, for a notebook."""

import io
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDTH = 110
"""Characters of a line of text."""
WIDEST = 100_000
"""Of a line in HTML, which a browser breaks."""

Show = Callable[[Any, Console], object]


def as_text(what: Any, show: Show) -> str:
    text = io.StringIO()
    show(what, _console(text, width=WIDTH))
    return "\n".join(line.rstrip() for line in text.getvalue().strip("\n").splitlines())


def as_html(what: Any, show: Show) -> str:
    page = Page()
    show(what, page)
    return "\n".join(page.parts)


class Page(Console):
    """A console whose lines and tables become HTML."""

    def __init__(self) -> None:
        super().__init__(file=io.StringIO(), force_jupyter=False)
        self.parts: list[str] = []

    def print(self, *objects: Any, style: Any = "", markup: bool | None = None, **look: Any) -> None:
        for one in objects:
            if isinstance(one, Table):
                self.parts.append(html_table(one))
            else:
                text = Text(one, style) if markup is False else Text.from_markup(one, style=style)
                self.parts.append(f"<p>{html_text(text)}</p>")


def html_table(table: Table) -> str:
    """Cells keep their colours, and the side they stand on."""
    sides = [f'style="text-align: {column.justify}; padding: 0 0.5em"' for column in table.columns]

    def row(tag: str, cells: Any) -> str:
        own = (f"<{tag} {side}>{html_text(cell)}</{tag}>" for side, cell in zip(sides, cells, strict=True))
        return f"<tr>{''.join(own)}</tr>"

    title = "" if table.title is None else f'<caption style="text-align: left">{html_text(table.title)}</caption>'
    head = row("th", [column.header for column in table.columns])
    body = [row("td", cells) for cells in zip(*(column.cells for column in table.columns), strict=True)]
    return f"<table>{title}<thead>{head}</thead><tbody>{''.join(body)}</tbody></table>"


def html_text(text: Any) -> str:
    console = _console(io.StringIO(), width=WIDEST, record=True)
    console.print(text, end="")
    return console.export_html(inline_styles=True, code_format="{code}").strip()


def _console(text: io.StringIO, **look: Any) -> Console:
    """In a notebook, a console would display what it prints, and take text for a terminal."""
    return Console(file=text, highlight=False, force_jupyter=False, force_terminal=False, **look)
