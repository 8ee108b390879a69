"""Parse and write SDF files as trees that preserve unchanged content.

An unchanged document is written with the bytes that were read, except that encodings such as
UTF-16, which are not compatible with ASCII, are converted to UTF-8. In a changed document,
everything outside the root element is preserved byte for byte. Inside, lxml normalizes only details
that XML treats as equal: attributes get double quotes, ``<a></a>`` becomes ``<a/>``, white space
inside tags becomes a single space, and line ends become ``\n``.
"""

import copy
import re
from pathlib import Path
from typing import Any, Optional, Tuple, Union

from lxml import etree

from gz_testauto.base.description_files import XACRO
from gz_testauto.base.disk import read_input, replace_file
from gz_testauto.base.errors import SdfError
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.sdf.repair import Repair, repair_xml
from gz_testauto.sdf.urdf.xacro import EXPAND, XacroInput, expand_xacro, require_no_macros

Element = Any  # lxml does not publish the type of its elements

# Versions 1.2 and 1.3 differ from 1.4 only in names of physics elements. As in Gazebo 11, a version
# after 1.7 is read as 1.7, and an element whose meaning has changed since 1.7 is rejected.
OLDEST = (1, 2)  # the oldest supported SDF version, which Gazebo 11 converts

MAX_DEPTH = 256  # files of Gazebo have about 20 levels

_MISC = rb"(?:\s|<\?.*?\?>|<!--.*?-->)*"
_PROLOG = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>)*", re.DOTALL
)
_EPILOG = re.compile(_MISC, re.DOTALL)


class SdfDocument:
    """A parsed SDF file.

    ``root`` is the ``<sdf>`` element, which can be edited with lxml. ``source`` is the name of the
    document in error messages.
    """

    def __init__(
        self,
        root: Element,
        content: bytes,
        source: str,
        path: Optional[Path] = None,
        repairs: Tuple[Repair, ...] = (),
    ) -> None:
        self.root = root
        self.source = source
        self.path = path
        self.repairs = repairs
        self._content = content

    @classmethod
    def read(
        cls, path: Union[str, Path], repair: bool = False, xacro: Optional[XacroInput] = None
    ) -> "SdfDocument":
        """Read a ``.world`` or ``.sdf`` file. ``repair`` permits the corrections of
        :mod:`gz_testauto.sdf.repair`. A ``.xacro`` file is expanded, which requires ``xacro``.
        Raises ``SdfError`` with the location if the file cannot be read, is not XML, or is not SDF
        of version 1.2 or newer."""
        path = Path(path)
        if path.suffix != XACRO:
            return cls._parse(read_input(path, SdfError), str(path), path, repair)
        if xacro is None:  # xacro runs Python expressions, which can be those of another author
            raise SdfError(
                f"{path}: xacro is not run on this file; {EXPAND}. If the world of a campaign "
                "includes it, 'worlds: {xacro: {}}' in the campaign file runs xacro"
            )
        # The comments of xacro contain the path of the file, which differs between machines.
        content = etree.tostring(parse_xml(expand_xacro(path, xacro)))
        return cls._parse(content, f"{path} (expanded by xacro)", path, repair)

    @classmethod
    def parse(
        cls,
        text: Union[str, bytes],
        source: str = "<text>",
        repair: bool = False,
        path: Optional[Path] = None,
    ) -> "SdfDocument":
        """Parse SDF text as :meth:`read` does. ``source`` is its name in error messages, and
        ``path`` the file from which it was generated."""
        content = text.encode() if isinstance(text, str) else text
        return cls._parse(content, source, path, repair)

    @classmethod
    def _parse(
        cls, content: bytes, source: str, path: Optional[Path], repair: bool
    ) -> "SdfDocument":
        repairs: Tuple[Repair, ...] = ()
        try:
            root = parse_xml(content)
        except etree.XMLSyntaxError as error:
            repaired_content, repairs = repair_xml(content)
            try:
                root = parse_xml(repaired_content)
            except etree.XMLSyntaxError:  # report the first error
                raise SdfError(_syntax_message(error, source, repairable=False)) from error
            if not repair:
                raise SdfError(_syntax_message(error, source, repairable=True)) from error
            content = repaired_content
        if b"\0" in content or not _is_ascii_compatible(root):  # UTF-16 need not be declared
            content = etree.tostring(root.getroottree(), encoding="UTF-8", xml_declaration=True)
            root = parse_xml(content)
        document = cls(root, content, source, path, repairs)
        document._check_version()
        document._check_depth()
        if b"xacro" in content:
            rename = "" if path is None else ", or use the name NAME.world.xacro or NAME.sdf.xacro"
            require_no_macros(root, source, EXPAND + rename)
        for entity in root.iter(etree.Entity):
            raise SdfError(
                f"{document.where(entity)}: the entity {entity.text} is not expanded; write its "
                "value instead"
            )
        return document

    def _check_depth(self) -> None:
        depth = 0
        for event, element in etree.iterwalk(self.root, events=("start", "end")):
            depth += 1 if event == "start" else -1
            if depth > MAX_DEPTH:
                raise SdfError(
                    f"{self.where(element)}: <{element.tag}> is at nesting depth {depth}; the "
                    f"limit is {MAX_DEPTH}"
                )

    def _check_version(self) -> None:
        if self.root.tag == "gazebo":
            raise SdfError(
                f"{self.where(self.root)}: <gazebo version=…> is the format before SDF, which "
                "Gazebo 11 neither loads nor converts; use a newer version of the file"
            )
        if self.root.tag != "sdf":
            is_urdf = self.root.tag == "robot"
            urdf = "; this is URDF, which only robots and actors can be" if is_urdf else ""
            raise SdfError(
                f"{self.where(self.root)}: the root element is <{self.root.tag}>, not <sdf>{urdf}"
            )
        text = self.root.get("version", "")
        if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9}){1,2}", text):
            raise SdfError(
                f'{self.where(self.root)}: <sdf> has version {text!r}; write version="1.6"'
            )
        if self.version < OLDEST:
            raise SdfError(
                f"{self.where(self.root)}: SDF version {text} is not supported; the oldest is 1.2. "
                "Gazebo 11 cannot convert it either; use a newer version of the file"
            )

    @property
    def version(self) -> Tuple[int, ...]:
        return tuple(int(part) for part in self.root.get("version", "").split(".")[:2])

    @property
    def world(self) -> Optional[Element]:
        """Return the first ``<world>``, which a simulator loads, or None."""
        return self.root.find("world")

    @property
    def model(self) -> Optional[Element]:
        """Return the first ``<model>`` directly below the root, or None."""
        return self.root.find("model")

    def require_world(self) -> Element:
        if self.world is None:
            raise SdfError(f"{self.source}: has no <world>")
        return self.world

    def require_model(self) -> Element:
        if self.model is None:
            raise SdfError(f"{self.source}: the SDF has no <model>")
        return self.model

    @property
    def directory(self) -> Path:
        """Return the directory to which paths in this document are relative."""
        return self.path.absolute().parent if self.path is not None else Path.cwd()

    def where(self, element: Element) -> str:
        """Return the location of an element as ``file:line``."""
        return f"{self.source}:{element.sourceline}" if element.sourceline else self.source

    def copy(self) -> "SdfDocument":
        return SdfDocument(
            copy.deepcopy(self.root), self._content, self.source, self.path, self.repairs
        )

    def to_bytes(self) -> bytes:
        original = parse_xml(self._content)
        if etree.tostring(original) == etree.tostring(self.root):
            return self._content
        prolog, epilog = _prolog_and_epilog(self._content)
        encoding = original.getroottree().docinfo.encoding or "UTF-8"
        body: bytes = etree.tostring(self.root, encoding=encoding, xml_declaration=False)
        if body.startswith(b"<?xml"):  # encodings other than UTF-8 force a declaration
            body = body.split(b"?>", 1)[1].lstrip()
        return prolog + body + epilog

    def write(self, path: Union[str, Path]) -> None:
        try:
            replace_file(Path(path), self.to_bytes())
        except OSError as error:
            raise SdfError(f"{path}: cannot be written: {error.strerror or error}") from error


def _is_ascii_compatible(root: Element) -> bool:
    """Return whether XML markup has the same bytes in the encoding of a document as in ASCII."""
    try:
        return "<".encode(root.getroottree().docinfo.encoding or "UTF-8") == b"<"
    except LookupError:  # an encoding that Python does not support
        return False


def _prolog_and_epilog(content: bytes) -> Tuple[bytes, bytes]:
    match = _PROLOG.match(content)
    prolog = match.group() if match else b""
    end = len(content)
    while end > 0:
        end = content.rindex(b">", 0, end) + 1
        # the last '>' that only comments and white space follow, and that is not part of these
        if _EPILOG.fullmatch(content, end) and not content[:end].endswith((b"-->", b"?>")):
            return prolog, content[end:]
        end -= 1
    return prolog, b""


def _syntax_message(error: "etree.XMLSyntaxError", source: str, repairable: bool) -> str:
    line, column = error.position
    reason = re.sub(r", line \d+, column \d+.*$", "", error.msg or "not well-formed XML")
    remedy = "Gazebo accepts it; --repair corrects it" if repairable else "correct the file"
    return f"{source}:{line}:{column}: {reason} ({remedy})"
