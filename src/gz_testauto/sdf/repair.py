"""Correct malformed XML that Gazebo accepts and XML parsers reject.

Only the following errors, which occur in public worlds, are corrected. A bare ``&``, or a missing
end tag or quote, is ambiguous and is not corrected.

- Undeclared namespace prefixes: a declaration is added to the root element.
- Element names with two colons, such as ``ignition::corrected_offsets``: one colon is removed.
- Text before or after the root element: it is removed.
- An XML declaration that is not at the start of the file: it is moved there.
- ``--`` in a comment: it is replaced by ``==``.
- Attribute values without quotes, which end at a blank, ``/`` or ``>`` as in TinyXML: quotes are
  added.
"""

import re
from typing import Dict, List, NamedTuple, Tuple

_SKIPPED = re.compile(rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>", re.DOTALL)
_TAG = re.compile(rb"<(?![!?/])[^<>]*>")
_ANY_TAG = re.compile(rb"<(?![!?])[^<>]*>")
_NAME = rb"[A-Za-z_][\w.\-]*"
_PREFIX = re.compile(rb"(?:^<|\s)(" + _NAME + rb"):" + _NAME + rb"(?=[\s=/>])")
_TWO_COLONS = re.compile(rb"(^</?" + _NAME + rb")::(?=" + _NAME + rb")")
_VALUE = re.compile(rb"(=\s*)(\"[^\"]*\"|'[^']*'|[^\s\"'/>]*(?![\"']))")
_QUOTED = re.compile(rb"\"[^\"]*\"|'[^']*'")
_ROOT = re.compile(rb"<(" + _NAME + rb")(?=[\s>])[^<>]*>")
_MARKUP = re.compile(rb"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>|\s+", re.DOTALL)


class Repair(NamedTuple):
    line: int
    correction: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.correction}"


def repair_xml(content: bytes) -> Tuple[bytes, Tuple[Repair, ...]]:
    repairs: List[Repair] = []
    content = _without_double_hyphens(content, repairs)
    content = _with_quoted_attributes(content, repairs)
    content = _without_stray_text(content, repairs)
    content = _with_declaration_first(content, repairs)
    content = _without_double_colons(content, repairs)
    content = _with_prefixes_declared(content, repairs)
    return content, tuple(repairs)


def _line_number(content: bytes, offset: int) -> int:
    return content.count(b"\n", 0, offset) + 1


def _blank_comments(content: bytes) -> bytes:
    """Replace comments, CDATA sections and processing instructions by blanks."""
    return _SKIPPED.sub(lambda match: re.sub(rb"[^\n]", b" ", match.group()), content)


def _without_double_hyphens(content: bytes, repairs: List[Repair]) -> bytes:
    def corrected(match: "re.Match[bytes]") -> bytes:
        content_text = match.group(1)
        fixed_text = re.sub(rb"-(?=-)|(?<=-)-|-$", b"=", content_text)
        if fixed_text != content_text:
            line = _line_number(content, match.start())
            repairs.append(Repair(line, "replaced '--' inside a comment by '=='"))
        return b"<!--" + fixed_text + b"-->"

    return re.sub(rb"<!--(.*?)-->", corrected, content, flags=re.DOTALL)


def _with_quoted_attributes(content: bytes, repairs: List[Repair]) -> bytes:
    """Add missing quotes around attribute values. ``<pose frame=>`` gets an empty value."""
    pieces, position = [], 0
    for tag in _TAG.finditer(_blank_comments(content)):
        bare_values: List[bytes] = []

        def quoted(match: "re.Match[bytes]", bare_values: List[bytes] = bare_values) -> bytes:
            equals, value = match.groups()
            if value[:1] in (b'"', b"'"):
                return match.group()
            bare_values.append(value)
            return equals.rstrip() + b'"' + value + b'"'

        corrected_tag = _VALUE.sub(quoted, tag.group())
        if bare_values:
            values_text = ", ".join(
                value.decode("utf-8", "replace") or "nothing" for value in bare_values
            )
            line = _line_number(content, tag.start())
            repairs.append(Repair(line, f"put quotes around the attribute value {values_text}"))
            pieces += [content[position : tag.start()], corrected_tag]
            position = tag.end()
    return b"".join([*pieces, content[position:]])


def _without_double_colons(content: bytes, repairs: List[Repair]) -> bytes:
    pieces, position = [], 0
    for tag in _ANY_TAG.finditer(_blank_comments(content)):
        match = _TWO_COLONS.match(tag.group())
        if match is None:
            continue
        colons = tag.start() + match.end(1)
        if not tag.group().startswith(b"</"):
            name = tag.group()[1:].split(maxsplit=1)[0].strip(b"/>").decode()
            repairs.append(
                Repair(_line_number(content, colons), f"removed one of two colons in <{name}>")
            )
        pieces += [content[position:colons], b":"]
        position = colons + 2
    return b"".join([*pieces, content[position:]])


def _with_declaration_first(content: bytes, repairs: List[Repair]) -> bytes:
    root = _ROOT.search(_blank_comments(content))
    declaration = re.search(rb"<\?xml\s.*?\?>", content, re.DOTALL)
    if root is None or declaration is None or not 0 < declaration.start() < root.start():
        return content
    repairs.append(
        Repair(_line_number(content, declaration.start()), "moved the XML declaration to the start")
    )
    head = content[: declaration.start()].strip()
    remainder = content[declaration.end() :].lstrip()
    return b"\n".join(part for part in (declaration.group(), head, remainder) if part)


def _without_stray_text(content: bytes, repairs: List[Repair]) -> bytes:
    visible = _blank_comments(content)
    root = _ROOT.search(visible)
    if root is None:
        return content
    end_tag = rb"</" + re.escape(root.group(1)) + rb"\s*>"
    ends = list(re.finditer(end_tag, visible))
    end = ends[-1].end() if ends else len(content)
    if b"<" in visible[end:]:  # elements after the root are not stray text
        end = len(content)
    head = _markup_only(content, 0, root.start(), repairs)
    tail = _markup_only(content, end, len(content), repairs)
    return head + content[root.start() : end] + tail


def _markup_only(content: bytes, start: int, end: int, repairs: List[Repair]) -> bytes:
    kept_pieces: List[bytes] = []
    position = start
    if start == 0 and content.startswith(b"\xef\xbb\xbf"):
        position = 3
    while position < end:
        match = _MARKUP.match(content, position, end)
        if match:
            kept_pieces.append(match.group())
            position = match.end()
            continue
        stop = content.find(b"<", position + 1, end)
        stop = end if stop < 0 else stop
        text = content[position:stop].strip()
        shown_text = text[:40].decode("utf-8", "replace") + ("…" if len(text) > 40 else "")
        repairs.append(
            Repair(_line_number(content, position), f"removed stray text {shown_text!r}")
        )
        kept_pieces.append(b"\n" if b"\n" in content[position:stop] else b"")
        position = stop
    return b"".join(kept_pieces)


def _with_prefixes_declared(content: bytes, repairs: List[Repair]) -> bytes:
    visible = _blank_comments(content)
    root = _ROOT.search(visible)
    if root is None:
        return content
    first_offsets: Dict[bytes, int] = {}
    for tag in _TAG.finditer(visible):
        bare_tag = _QUOTED.sub(
            lambda match: b'"' + b"." * (len(match.group()) - 2) + b'"', tag.group()
        )
        for match in _PREFIX.finditer(bare_tag):
            first_offsets.setdefault(match.group(1), tag.start() + match.start(1))
    declared_prefixes = set(re.findall(rb"\sxmlns:(" + _NAME + rb")\s*=", visible))
    missing_prefixes = {
        prefix: offset
        for prefix, offset in first_offsets.items()
        if prefix not in declared_prefixes and prefix not in (b"xml", b"xmlns")
    }
    for prefix, offset in missing_prefixes.items():
        name = prefix.decode()
        repairs.append(
            Repair(_line_number(content, offset), f"declared the namespace prefix {name!r}")
        )
    declarations = b"".join(
        b' xmlns:%s="undeclared:%s"' % (prefix, prefix) for prefix in sorted(missing_prefixes)
    )
    name_end = root.end(1)
    return content[:name_end] + declarations + content[name_end:]
