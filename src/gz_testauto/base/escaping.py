"""Escape text from files for display in a terminal.

Characters that are not printable, such as control sequences and marks that reverse the text
direction, are replaced by Python's escape sequences (``\\x1b``).
"""

import dataclasses
from typing import Any, Mapping, TypeVar

Value = TypeVar("Value")

_LAYOUT = "\n\t"


def escape_text(text: str) -> str:
    """Escape all characters except printable ones, line ends and tabs."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or character in _LAYOUT
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def escape_all_texts(value: Value) -> Value:
    """Escape each string, also in dataclasses, sequences and mappings."""
    result: Any = value
    if isinstance(value, str) and type(value) is str:
        result = escape_text(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        result = dataclasses.replace(value, **escape_all_texts(fields))
    elif hasattr(value, "_asdict"):
        result = value._replace(  # type: ignore[attr-defined]
            **escape_all_texts(value._asdict())
        )
    elif isinstance(value, Mapping):
        result = {escape_all_texts(key): escape_all_texts(item) for key, item in value.items()}
    elif type(value) in (tuple, list):
        items = [escape_all_texts(item) for item in value]  # type: ignore[attr-defined]
        result = tuple(items) if type(value) is tuple else items
    return result  # type: ignore[no-any-return]
