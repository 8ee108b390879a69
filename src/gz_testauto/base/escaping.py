"""Text from files, made fit for a terminal.

Owns the one rule: what is not printable (control sequences, which move the cursor, change colours
or the window's title; marks that turn the direction of writing) is shown as Python writes it,
``\\x1b``. Files and JSON get the text as it is.
"""

import dataclasses
from typing import Any, Mapping, TypeVar

Value = TypeVar("Value")

_LAYOUT = "\n\t"


def escape_text(text: str) -> str:
    """``text`` with everything but printable characters, line ends and tabs escaped."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in _LAYOUT else _escaped(character)
        for character in text
    )


def escape_all_texts(value: Value) -> Value:
    """The same value with every text in it printable: in dataclasses, tuples, lists and
    mappings."""
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


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
