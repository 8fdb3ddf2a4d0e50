"""A request that is refused: why, at which field of the page, and with which HTTP status."""

from collections.abc import Iterator
from contextlib import contextmanager

from lengthwise.errors import InputError


class RefusedError(InputError):
    def __init__(self, message: str, *, field: str | None = None, status: int = 422) -> None:
        super().__init__(message)
        self.field, self.status = field, status


@contextmanager
def typed_in(field: str) -> Iterator[None]:
    """Whatever is wrong in here was typed into this field."""
    try:
        yield
    except RefusedError:
        raise
    except InputError as error:
        raise RefusedError(str(error), field=field) from None
