"""Conversion of a GzScenic program from Scenic 2 to Scenic 3.

A construct whose replacement is certain is rewritten. The others remain, below a comment that
starts with ``NOT CONVERTED`` and describes the replacement. Scenic's own converter is not used,
since it needs Scenic 2 and runs the program.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional, Set, Tuple

from gz_testauto.base.disk import disk_errors, read_text, replace_file
from gz_testauto.base.errors import SpecError

MARK = "# NOT CONVERTED:"

_LITERAL = re.compile(
    r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*'
)
_SPECIFIER = (
    r"(?:at|in|on|contained\s+in|offset|beyond|visible|not\s+visible|left\s+of|right\s+of|ahead\s+of"
    r"|behind|above|below|facing|apparently|with|using|following)\b"
)
_CREATION = re.compile(
    r"(?P<before>^[ \t]*|[=(\[,:{][ \t]*|\b(?:return|else|or|and|yield)[ \t]+)"
    r"(?P<name>[A-Z]\w*)\b"
    rf"(?=[ \t]*(?:$|[,)\]}};]|(?:if|for|else)\b|{_SPECIFIER}))",
    re.MULTILINE,
)
_NO_CLASSES = {"True", "False", "None", "NotImplemented", "Ellipsis"}
_CLASS = re.compile(r"^[ \t]*class[ \t]+(\w+)", re.MULTILINE)
_ASSIGNED = re.compile(r"^[ \t]*([A-Z]\w*)[ \t]*=(?!=)", re.MULTILINE)
_HEADING_DEFAULT = re.compile(r"^([ \t]+)heading([ \t]*):", re.MULTILINE)
_WITH_HEADING = re.compile(r"\bwith[ \t]+heading\b")
_ATTRIBUTE = re.compile(r"^[ \t]*([A-Za-z_]\w*)\.(\w+)[ \t]*=(?!=)", re.MULTILINE)
_MONITOR = re.compile(r"^[ \t]*monitor[ \t]+(\w+)[ \t]*:", re.MULTILINE)
_BASE = re.compile(
    r"^([ \t]*)(?=from[ \t]+gzscenic\.(?!model\b)|import[ \t]+gzscenic)", re.MULTILINE
)
_DIRECTION = re.compile(r"\b(?:left of|right of|ahead of|behind)\b")
_VISIBLE = re.compile(r"\brequireVisible\b|\bcan see\b")


@dataclass(frozen=True)
class Converted:
    """A converted program, with notes on lines to check manually."""

    text: str
    notes: Tuple[str, ...]


def convert_file(path: Path, out: Optional[Path] = None) -> Converted:
    """Convert a Scenic 2 program file, and write the file ``out``. Raises ``SpecError`` if ``out``
    exists."""
    text = read_text(path, SpecError)
    if out is not None and out.exists():
        raise SpecError(f"{out}: the file exists already; specify another file")
    converted = convert(text, str(path if out is None else out))
    if out is not None:
        with disk_errors(out):
            replace_file(out, converted.text.encode())
    return converted


def convert(text: str, name: str = "<scenario>") -> Converted:
    """Convert a Scenic 2 program to Scenic 3. ``name`` is the file name in the notes."""
    plain = _mask_text(text)
    edits: List[Tuple[int, int, str]] = []
    classes = set(_CLASS.findall(plain))
    for match in _CREATION.finditer(plain):
        if _creates_object(plain, match, classes):
            edits.append((match.start("name"), match.start("name"), "new "))
    for match in _HEADING_DEFAULT.finditer(plain):
        if _is_in_class_body(plain, match.start()):
            start = match.start() + len(match.group(1))
            edits.append((start, start + len("heading"), "parentOrientation"))
    for match in _WITH_HEADING.finditer(plain):
        edits.append((match.start(), match.end(), "facing"))
    remedies = sorted(_remedies_by_line(plain))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    notes: List[str] = []
    lines: List[str] = []
    for number, line in enumerate(text.split("\n")):
        for place, remedy in remedies:
            if place == number:
                indent = line[: len(line) - len(line.lstrip())]
                lines.append(f"{indent}{MARK} {remedy}")
                notes.append(f"{name}:{len(lines) + 1}: not converted: {remedy}")
        lines.append(line)
    if _DIRECTION.search(plain):
        notes.append(
            f"{name}: `left of` and similar specifiers now measure from the side of the other "
            "object, not from its center"
        )
    if _VISIBLE.search(plain):
        notes.append(f"{name}: an object that is hidden behind another is no longer visible")
    return Converted("\n".join(lines), tuple(notes))


def _mask_text(text: str) -> str:
    """Replace strings and comments by blanks, without a change of positions."""
    return _LITERAL.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def _creates_object(plain: str, match: "re.Match[str]", classes: Set[str]) -> bool:
    """Return whether the matched name is a class that the program calls without ``new``."""
    name = match.group("name")
    if name in _NO_CLASSES:
        return False
    if name not in classes and (name.isupper() and len(name) > 1):
        return False
    if name not in classes and name in _ASSIGNED.findall(plain):
        return False
    start = plain.rfind("\n", 0, match.start("name")) + 1
    text_before = plain[start : match.start("name")]
    if re.match(r"[ \t]*(?:class|import|from|except|def|raise)\b", text_before):
        return False
    if re.search(r"\bnew[ \t]+$", text_before):
        return False
    return not {"isinstance", "issubclass"}.intersection(_names_of_open_calls(text_before))


def _names_of_open_calls(text_before: str) -> List[str]:
    calls: List[str] = []
    for match in re.finditer(r"(\w*)\s*\(|\)", text_before):
        if match.group() == ")":
            if calls:
                calls.pop()
        else:
            calls.append(match.group(1))
    return calls


def _is_in_class_body(plain: str, position: int) -> bool:
    indent = re.match(r"[ \t]*", plain[position:])
    width = len(indent.group()) if indent else 0
    for line in reversed(plain[:position].split("\n")):
        if not line.strip():
            continue
        outer = len(line) - len(line.lstrip())
        if outer < width:
            return bool(re.match(r"[ \t]*class\b", line))
    return False


def _remedies_by_line(plain: str) -> List[Tuple[int, str]]:
    """Return (line, remedy) for lines that cannot be converted. Lines are counted from 0."""
    marks = [(match, _attribute_remedy(match)) for match in _ATTRIBUTE.finditer(plain)]
    for match in _MONITOR.finditer(plain):
        marks.append((match, f"`monitor {match.group(1)}` refers to time; remove it"))
    for match in _BASE.finditer(plain):
        marks.append((match, "the models' classes need no import; remove it"))
    return [(plain.count("\n", 0, match.start()), text) for match, text in marks if text]


def _attribute_remedy(match: "re.Match[str]") -> Optional[str]:
    name, attribute = match.groups()
    if name == "self":
        return None
    if attribute == "z":
        return (
            f"specify the supporting object where {name} is created: `new ... on table`, "
            "without `at`"
        )
    return f"specify it where {name} is created: `with {attribute} ...`"
