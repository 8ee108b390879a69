from dataclasses import dataclass
from typing import Mapping, Tuple

from gz_testauto.base.escaping import escape_all_texts, escape_text


@dataclass(frozen=True)
class Planner:
    name: str
    metrics: Mapping[str, float]
    worlds: Tuple[str, ...]


def test_control_sequences_are_escaped():
    assert escape_text("\x1b]0;title\x07 \x9b2J größe\n\u202e") == (
        "\\x1b]0;title\\x07 \\x9b2J größe\n\\u202e"
    )


def test_all_strings_of_a_record_are_escaped():
    assert escape_all_texts(Planner("a\x1b", {"m\r": 1.0}, ("w\x08",))) == Planner(
        "a\\x1b", {"m\\r": 1.0}, ("w\\x08",)
    )


def test_a_value_without_strings_to_escape_is_returned_itself():
    plain = (Planner("a", {"m": 1.0}, ("w", "")), [{"b": None}])
    assert escape_all_texts(plain) is plain
