"""What all configs share: frozen, nothing extra, and one line for the user if a value does not hold."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lengthwise.errors import InputError

REASONS = {"missing": "{} is missing", "extra_forbidden": "unknown option {}"}


Count = Annotated[int, Field(ge=1, le=10**9)]
"""How many of something. More than this is a mistake, and would end in an error of some library."""


class Config(BaseModel):
    """Validated when built. A config class stands beside the code that it configures."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    def __init__(self, **content: Any) -> None:
        try:
            super().__init__(**content)
        except ValidationError as error:
            raise InputError(_first_complaint(error)) from None


def _first_complaint(error: ValidationError) -> str:
    first = error.errors()[0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        return str(cause)
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] in REASONS:
        return REASONS[first["type"]].format(where)
    return f"{where} is {first['input']!r} ({first['msg'].replace('Input should be', 'must be')})"
