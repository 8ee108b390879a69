"""XML that others have written, read without following what it points to.

Owns the one way in which this package parses XML: no entities are put in, nothing is fetched from
the network and no DTD is loaded, whatever the defaults of the installed lxml are. A world, a
model or a launch file can therefore not make its reader show or send another file.
"""

from pathlib import Path

from lxml import etree

from gz_testauto.base.disk import read_file


def parse_xml(
    content: bytes, recover: bool = False, remove_comments: bool = False
) -> "etree._Element":
    """The root element; white space, comments and CDATA are kept unless said.

    ``recover`` takes what can be made out of XML that is not well-formed, as TinyXML does; the
    result is then None when nothing can. Raises ``etree.XMLSyntaxError``.
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
    """As :func:`parse_xml`, of a file. Raises ``OSError`` as well."""
    return parse_xml(read_file(path), recover)
