"""Escape text from files for display in a terminal.

Characters that are not printable, such as control sequences and marks that reverse the text
direction, are replaced by Python's escape sequences (``\\x1b``).
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

Value = TypeVar("Value")

_LAYOUT = "\n\t"
_NUMBERS = (float, int, bool, type(None))


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
    """Escape each string, also in dataclasses, sequences and mappings. A value without a string to
    escape is returned itself."""
    result: Any = value
    if type(value) in _NUMBERS:
        return value
    if isinstance(value, str) and type(value) is str:
        result = escape_text(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        escaped = escape_all_texts(fields)
        result = value if escaped is fields else dataclasses.replace(value, **escaped)
    elif hasattr(value, "_asdict"):
        fields = value._asdict()
        escaped = escape_all_texts(fields)
        result = value if escaped is fields else value._replace(**escaped)  # type: ignore[attr-defined]
    elif isinstance(value, Mapping):
        items = {escape_all_texts(key): escape_all_texts(item) for key, item in value.items()}
        if any(value.get(key, items) is not item for key, item in items.items()):
            result = items
    elif type(value) in (tuple, list):
        elements = [escape_all_texts(item) for item in value]  # type: ignore[attr-defined]
        if any(new is not old for new, old in zip(elements, value)):  # type: ignore[call-overload]
            result = tuple(elements) if type(value) is tuple else elements
    return result  # type: ignore[no-any-return]
