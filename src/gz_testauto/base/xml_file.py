"""Parse XML from untrusted sources without resolving references to other files."""

from pathlib import Path

from lxml import etree

from gz_testauto.base.disk import read_file


def parse_xml(
    content: bytes, recover: bool = False, remove_comments: bool = False
) -> "etree._Element":
    """Return the root element.

    If ``recover`` is true, XML that is not well-formed is repaired, as TinyXML does, or the result
    is None. Otherwise, ``etree.XMLSyntaxError`` is raised.
    """
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        strip_cdata=False,
        remove_blank_text=False,
        huge_tree=True,
        recover=recover,
        remove_comments=remove_comments,
    )
    return etree.fromstring(content, parser)


def read_xml(path: Path, recover: bool = False) -> "etree._Element":
    """Return the root element of a file (:func:`parse_xml`). Raises ``OSError``."""
    return parse_xml(read_file(path), recover)
