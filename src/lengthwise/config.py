"""The base class of all configs: frozen, without unknown fields, with a one-line message for a bad value."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lengthwise.errors import InputError

REASONS = {"missing": "{} is missing", "extra_forbidden": "unknown option {}"}


Count = Annotated[int, Field(ge=1, le=10**9)]
"""A positive count. Larger values are mistakes that would raise errors deep inside a library."""


class Config(BaseModel):
    """A config, validated when built. Each config class is next to the code it configures."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    def __init__(self, **content: Any) -> None:
        try:
            super().__init__(**content)
        except ValidationError as error:
            raise InputError(_first_message(error)) from None


def _first_message(error: ValidationError) -> str:
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        return str(cause)
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] in REASONS:
        return REASONS[first["type"]].format(where)
    return f"{where} is {first['input']!r} ({first['msg'].replace('Input should be', 'must be')})"
