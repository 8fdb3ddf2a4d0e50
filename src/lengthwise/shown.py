"""Objects that print as tables, in a terminal and in a notebook: predictions, runs, evaluations."""

from pkgutil import resolve_name
from typing import ClassVar


class Shown:
    """A base class whose `shown_by` names the function that prints the object on a console. The function is looked
    up only when something is printed, so that code that computes does not import code that prints."""

    __slots__ = ()
    shown_by: ClassVar[str]

    def __repr__(self) -> str:
        return resolve_name("lengthwise.report.tables:as_text")(self, resolve_name(self.shown_by))

    def _repr_html_(self) -> str:
        return resolve_name("lengthwise.report.tables:as_html")(self, resolve_name(self.shown_by))
