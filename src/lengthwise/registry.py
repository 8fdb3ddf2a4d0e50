"""Objects named by their location and imported when they are first used.

A `Registry` is a table of named objects that installed packages can extend. An entry is an object, or its location
as `package.module:name`. A package declares its entries as entry points (docs/extend.md). Their names are known
without importing the package, so that a broken package fails only where its name is used.

`Shown` objects print as tables (predictions, runs, evaluations), by a function in code that computes nothing.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pkgutil import resolve_name
from typing import ClassVar, Generic, TypeVar, cast

from lengthwise.errors import InputError

Entry = TypeVar("Entry")


class Registry(MutableMapping[str, Entry], Generic[Entry]):
    """Entries by name: those of this package, those that a program sets, and those of the entry point group
    `lengthwise.GROUP`. If names collide, a program's entry comes first, then this package's.

    `kind` is the class that entry points must have. With `implementations`, entry points name facts, which need no
    torch, and the entry is the object that their `implementation` locates.
    """

    def __init__(
        self,
        group: str,
        own: Mapping[str, Entry | str],
        *,
        kind: type | None = None,
        implementations: bool = False,
    ) -> None:
        self.group, self.kind, self.implementations = group, kind, implementations
        self._entries: dict[str, Entry | str] = dict(own)

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in entry_points(group=f"lengthwise.{self.group}")}

    def __getitem__(self, name: str) -> Entry:
        entry = self._entries.get(name)
        if entry is None:
            entry = self._entries[name] = self._load(self._installed[name])
        if isinstance(entry, str):
            entry = self._entries[name] = resolve_name(entry)
        return cast(Entry, entry)

    def __setitem__(self, name: str, entry: Entry) -> None:
        self._entries[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._entries, *self._installed]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._installed

    def working(self) -> dict[str, Entry]:
        """All entries that can be imported, for lists."""
        found: dict[str, Entry] = {}
        for name in self:
            try:
                found[name] = self[name]
            except InputError:
                continue
        return found

    def _load(self, point: EntryPoint) -> Entry:
        try:
            found = point.load()
            if self.kind is not None and not isinstance(found, self.kind):
                raise TypeError(f"it is not of class {self.kind.__name__}")
            return resolve_name(found.implementation) if self.implementations else found
        except Exception as error:  # another package's code may raise anything: the message names the package
            package = "unknown" if point.dist is None else point.dist.name
            reason = f"{type(error).__name__}: {error}"
            raise InputError(
                f"cannot load {point.name!r} of lengthwise.{self.group} from package {package!r} "
                f"({point.value}): {reason}"
            ) from None


class Shown:
    """An object that prints as a table in a terminal and in a notebook, by the function that `shown_by` locates,
    which prints it on a console."""

    __slots__ = ()
    shown_by: ClassVar[str]

    def __repr__(self) -> str:
        return resolve_name("lengthwise.report.tables:as_text")(self, resolve_name(self.shown_by))

    def _repr_html_(self) -> str:
        return resolve_name("lengthwise.report.tables:as_html")(self, resolve_name(self.shown_by))
