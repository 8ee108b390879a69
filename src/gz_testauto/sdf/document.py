"""One SDF file as a tree that keeps what nobody touched.

Owns parsing, writing and saying where in a file something stands. What an element *means*
is other modules' business, with two exceptions that everybody needs: the version and the
world. A document that was not changed is written as the very bytes that were read (in UTF-8,
where they were in an encoding such as UTF-16 in which ASCII text is other bytes). In one that
was, everything outside the root element stays byte for byte; inside it comments,
order, white space, CDATA and character case stay, and lxml normalizes only what XML calls
equal: quotes around attributes become double, ``<a></a>`` becomes ``<a/>``, white space
inside tags becomes single, line ends become ``\\n``.
"""

import copy
import re
from pathlib import Path
from typing import Any, Optional, Tuple, Union

from lxml import etree

from gz_testauto.base.disk import read_file, replace_file
from gz_testauto.base.errors import SdfError
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.sdf.repair import Repair, repair_xml

Element = Any
"""An lxml element; lxml publishes no types."""

OLDEST = (1, 2)
"""Oldest SDF version that is read, and that Gazebo 11 converts: 1.2 and 1.3 are the same to it, and
differ from 1.4 in names of physics only. A newer one than 1.7 is read as 1.7, as Gazebo 11 does;
what would then mean something else is refused where it stands."""

MAX_DEPTH = 256
"""Elements within each other, the root among them; what Gazebo writes has about 20."""

_MISC = rb"(?:\s|<\?.*?\?>|<!--.*?-->)*"
_PROLOG = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>)*", re.DOTALL
)
_EPILOG = re.compile(_MISC, re.DOTALL)


class SdfDocument:
    """A parsed SDF file.

    ``root`` is the ``<sdf>`` element, free to be edited with lxml. ``path`` is the file it
    came from (None for text), ``source`` how messages name it, ``repairs`` what had to be
    mended before an XML parser would take it (empty unless asked for).
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
    def read(cls, path: Union[str, Path], repair: bool = False) -> "SdfDocument":
        """Read a ``.world`` or ``.sdf`` file.

        Raises ``SdfError``, with file, line and column, when it cannot be read, is not XML,
        or is no SDF from 1.2 on. ``repair`` mends what :mod:`gz_testauto.sdf.repair` can.
        """
        path = Path(path)
        try:
            content = read_file(path)
        except OSError as error:
            raise SdfError(f"{path}: cannot be read: {error.strerror or error}") from error
        return cls._parse(content, str(path), path, repair)

    @classmethod
    def parse(
        cls, text: Union[str, bytes], source: str = "<text>", repair: bool = False
    ) -> "SdfDocument":
        """Read SDF from text; ``source`` is what messages call it."""
        content = text.encode() if isinstance(text, str) else text
        return cls._parse(content, source, None, repair)

    @classmethod
    def _parse(
        cls, content: bytes, source: str, path: Optional[Path], repair: bool
    ) -> "SdfDocument":
        repairs: Tuple[Repair, ...] = ()
        try:
            root = parse_xml(content)
        except etree.XMLSyntaxError as error:
            mended, repairs = repair_xml(content)
            try:
                root = parse_xml(mended)
            except etree.XMLSyntaxError:  # the first complaint is the one to show
                raise SdfError(_syntax_message(error, source, mendable=False)) from error
            if not repair:
                raise SdfError(_syntax_message(error, source, mendable=True)) from error
            content = mended
        if b"\0" in content or not _holds_ascii(root):  # UTF-16 need not be declared
            content = etree.tostring(root.getroottree(), encoding="UTF-8", xml_declaration=True)
            root = parse_xml(content)
        document = cls(root, content, source, path, repairs)
        document._check_version()
        document._check_depth()
        return document

    def _check_depth(self) -> None:
        depth = 0
        for event, element in etree.iterwalk(self.root, events=("start", "end")):
            depth += 1 if event == "start" else -1
            if depth > MAX_DEPTH:
                raise SdfError(
                    f"{self.where(element)}: <{element.tag}> is the {depth}th element within "
                    f"another; at most {MAX_DEPTH} are read"
                )

    def _check_version(self) -> None:
        if self.root.tag == "gazebo":
            raise SdfError(
                f"{self.where(self.root)}: <gazebo version=…> is the format before SDF, which "
                "Gazebo 11 neither loads nor converts; take a newer version of the file"
            )
        if self.root.tag != "sdf":
            is_urdf = self.root.tag == "robot"
            urdf = "; this is URDF: convert it by `gz sdf -p FILE`" if is_urdf else ""
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
                f"{self.where(self.root)}: SDF version {text} is not read, only 1.2 and newer, "
                "and Gazebo 11 cannot convert it; take a newer version of the file"
            )

    @property
    def version(self) -> Tuple[int, ...]:
        """The SDF version, as ``(1, 6)``."""
        return tuple(int(part) for part in self.root.get("version", "").split(".")[:2])

    @property
    def world(self) -> Optional[Element]:
        """The first ``<world>``, or None: the one a simulator is started with."""
        return self.root.find("world")

    @property
    def model(self) -> Optional[Element]:
        """The first ``<model>`` directly under the root, or None."""
        return self.root.find("model")

    @property
    def directory(self) -> Path:
        """What relative paths in this document are relative to."""
        return self.path.absolute().parent if self.path is not None else Path.cwd()

    def where(self, element: Element) -> str:
        """``file:line`` of an element, for messages."""
        return f"{self.source}:{element.sourceline}" if element.sourceline else self.source

    def copy(self) -> "SdfDocument":
        """An independent document with the same content."""
        return SdfDocument(
            copy.deepcopy(self.root), self._content, self.source, self.path, self.repairs
        )

    def to_bytes(self) -> bytes:
        """The file's content, in the encoding in which it was read."""
        original = parse_xml(self._content)
        if etree.tostring(original) == etree.tostring(self.root):
            return self._content
        prolog, epilog = _surroundings(self._content)
        encoding = original.getroottree().docinfo.encoding or "UTF-8"
        body: bytes = etree.tostring(self.root, encoding=encoding, xml_declaration=False)
        if body.startswith(b"<?xml"):  # encodings other than UTF-8 force a declaration
            body = body.split(b"?>", 1)[1].lstrip()
        return prolog + body + epilog

    def write(self, path: Union[str, Path]) -> None:
        """Write the file; raises ``SdfError`` when that cannot be done."""
        try:
            replace_file(Path(path), self.to_bytes())
        except OSError as error:
            raise SdfError(f"{path}: cannot be written: {error.strerror or error}") from error


def _holds_ascii(root: Element) -> bool:
    """Whether markup is the same bytes in a document's encoding as in ASCII."""
    try:
        return "<".encode(root.getroottree().docinfo.encoding or "UTF-8") == b"<"
    except LookupError:  # an encoding that Python does not know
        return False


def _surroundings(content: bytes) -> Tuple[bytes, bytes]:
    """The bytes before the root's start tag and after its end tag."""
    match = _PROLOG.match(content)
    prolog = match.group() if match else b""
    end = len(content)
    while end > 0:
        end = content.rindex(b">", 0, end) + 1
        # the last '>' followed by nothing but comments and blanks, not inside one of them
        if _EPILOG.fullmatch(content, end) and not content[:end].endswith((b"-->", b"?>")):
            return prolog, content[end:]
        end -= 1
    return prolog, b""


def _syntax_message(error: "etree.XMLSyntaxError", source: str, mendable: bool) -> str:
    line, column = error.position
    reason = re.sub(r", line \d+, column \d+.*$", "", error.msg or "not well-formed XML")
    remedy = "Gazebo takes it all the same; --repair mends it" if mendable else "mend the file"
    return f"{source}:{line}:{column}: {reason} ({remedy})"
