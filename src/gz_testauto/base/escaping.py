"""Escape text from files for display in a terminal.

Characters that are not printable are replaced by Python's escape sequences (``\\x1b``). Among these
are control sequences, which can change the title of a terminal, and marks that reverse the text
direction. In files and JSON, the text remains unchanged.
"""

import dataclasses
from typing import Any, Mapping, TypeVar

Value = TypeVar("Value")

_LAYOUT = "\n\t"


def escape_text(text: str) -> str:
    """Return ``text`` with all characters escaped except printable ones, line ends and tabs."""
    if text.isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or character in _LAYOUT
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def escape_all_texts(value: Value) -> Value:
    """Return ``value`` with :func:`escape_text` applied to each string in it.

    Dataclasses, tuples, lists and mappings are converted recursively.
    """
    shown: Any = value
    if isinstance(value, str) and type(value) is str:
        shown = escape_text(value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
        shown = dataclasses.replace(value, **escape_all_texts(fields))
    elif hasattr(value, "_asdict"):
        shown = value._replace(  # type: ignore[attr-defined]
            **escape_all_texts(value._asdict())
        )
    elif isinstance(value, Mapping):
        shown = {escape_all_texts(key): escape_all_texts(item) for key, item in value.items()}
    elif type(value) in (tuple, list):
        items = [escape_all_texts(item) for item in value]  # type: ignore[attr-defined]
        shown = tuple(items) if type(value) is tuple else items
    return shown  # type: ignore[no-any-return]
