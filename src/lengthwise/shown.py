"""What prints as tables, and shows as such in a notebook: predictions, runs, evaluations."""

from pkgutil import resolve_name
from typing import ClassVar


class Shown:
    """`shown_by` names the function that prints it on a console. That function, and what makes text and HTML of
    what it prints, are looked up when something is shown: what computes imports nothing that shows."""

    __slots__ = ()
    shown_by: ClassVar[str]

    def __repr__(self) -> str:
        return resolve_name("lengthwise.report.tables:as_text")(self, resolve_name(self.shown_by))

    def _repr_html_(self) -> str:
        return resolve_name("lengthwise.report.tables:as_html")(self, resolve_name(self.shown_by))
