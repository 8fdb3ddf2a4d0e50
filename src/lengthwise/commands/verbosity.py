"""How much a verb says besides its results: --quiet and --verbose."""

from dataclasses import dataclass

from rich.console import Console

from lengthwise.errors import InputError
from lengthwise.progress import news_console, show_log


@dataclass(frozen=True, kw_only=True)
class Verbosity:
    quiet: bool = False
    """Print nothing but results and errors."""
    verbose: bool = False
    """Also tell what is being done: device, folders, compiling, times."""

    def news(self) -> Console:
        """Where to say what is no result."""
        if self.quiet and self.verbose:
            raise InputError("--quiet and --verbose exclude each other")
        console = news_console(quiet=self.quiet)
        show_log(console if self.verbose else None)
        return console

    def results(self, *, as_json: bool) -> Console:
        """Where to print tables. Beside JSON they are news."""
        return self.news() if as_json else Console(highlight=False)
