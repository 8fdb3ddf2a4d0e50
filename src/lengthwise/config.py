"""What all configs share: frozen, nothing extra, and one line for the user if a value does not hold."""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from lengthwise.errors import InputError


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
    given = "" if first["type"] == "missing" else f" is {first['input']!r}"
    return f"{where}{given}: {first['msg'][0].lower()}{first['msg'][1:]}"
