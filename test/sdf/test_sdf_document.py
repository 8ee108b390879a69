"""Unchanged documents are written as read, and errors have file, line and reason."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from gz_testauto.base.errors import SdfError
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.repair import repair_xml

WORLD = """<?xml version='1.0' encoding="utf-8" standalone='yes'?>
<!-- made by hand: 100 % oak -->
<sdf version='1.6'>
  <world name="default">

    <!-- the floor --><include ><uri>model://ground_plane</uri></include>
    <model name='Küche'>\t<pose frame=''>1 2 0 0 -0 0</pose><link name="l"  /></model>
    <plugin name="p" filename="x.so"><data><![CDATA[a < b && c]]></data></plugin>
  </world>
</sdf>
<!-- the end -->
"""


def test_unchanged_document_is_written_with_the_same_bytes(tmp_path):
    source, target = tmp_path / "a.world", tmp_path / "b.world"
    source.write_bytes(b"\xef\xbb\xbf" + WORLD.replace("\n", "\r\n").encode())
    SdfDocument.read(source).write(target)
    assert target.read_bytes() == source.read_bytes()


def test_edited_document_preserves_text_outside_the_root_and_layout_inside():
    document = SdfDocument.parse(WORLD)
    document.world.find("model").set("name", "kitchen")
    written = document.to_bytes().decode()
    prolog, epilog = WORLD.split("<sdf")[0], WORLD.split("</sdf>")[1]
    assert written.startswith(prolog + "<sdf version=")
    assert written.endswith("</sdf>" + epilog)
    for kept in ("<!-- the floor -->", "<![CDATA[a < b && c]]>", "\t<pose", "1 2 0 0 -0 0"):
        assert kept in written


def test_reverted_edit_results_in_the_original_bytes():
    document = SdfDocument.parse(WORLD)
    document.world.set("name", "other")
    assert document.to_bytes() != WORLD.encode()
    document.world.set("name", "default")
    assert document.to_bytes() == WORLD.encode()


def test_document_copy_is_independent():
    document = SdfDocument.parse(WORLD)
    duplicate = document.copy()
    duplicate.world.set("name", "other")
    assert document.world.get("name") == "default"
    assert document.to_bytes() == WORLD.encode()


def test_encoding_of_a_file_is_preserved():
    text = (
        '<?xml version="1.0" encoding="ISO-8859-1"?>\n<sdf version="1.5"><world name="Tür"/></sdf>'
    )
    document = SdfDocument.parse(text.encode("latin-1"))
    document.world.set("name", "Türe")
    assert 'name="Türe"'.encode("latin-1") in document.to_bytes()
    assert SdfDocument.parse(document.to_bytes()).world.get("name") == "Türe"


@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-32"])
def test_file_with_wide_characters_is_written_in_utf_8(encoding):
    declaration = f'<?xml version="1.0" encoding="{encoding}"?>\n<!-- Tür -->'
    text = f'{declaration}<sdf version="1.5"><world name="w"/></sdf>'
    document = SdfDocument.parse(text.encode(encoding))
    document.world.set("name", "Türe")
    again = SdfDocument.parse(document.to_bytes())
    assert again.world.get("name") == "Türe"
    assert "<!-- Tür -->" in document.to_bytes().decode("utf-8")


NAMES = st.text("abcdefgh_", min_size=1, max_size=8)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
SAFE = TEXTS.filter(lambda text: "--" not in text and not text.endswith("-"))


@st.composite
def elements(draw, depth=0):
    element = etree.Element(draw(NAMES))
    for name in draw(st.lists(NAMES, max_size=2, unique=True)):
        element.set(name, draw(TEXTS))
    element.text = draw(TEXTS)
    for _ in range(draw(st.integers(0, 3)) if depth < 3 else 0):
        comment = draw(st.booleans())
        child = etree.Comment(draw(SAFE)) if comment else draw(elements(depth=depth + 1))
        child.tail = draw(TEXTS)
        element.append(child)
    return element


@pytest.mark.slow
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(elements(), SAFE, st.sampled_from(["", "<?xml version='1.0'?>\n", "\n \n"]))
def test_written_document_is_read_with_the_same_content(content, comment, declaration):
    root = etree.Element("sdf", version="1.6")
    root.append(content)
    once = etree.tostring(root, encoding="unicode")
    body = etree.tostring(etree.fromstring(once), encoding="unicode")  # <a></a> is <a/>
    text = f"{declaration}<!--{comment}-->{body}<!--{comment}-->\n"
    document = SdfDocument.parse(text)
    assert document.to_bytes() == text.encode()
    document.root.set("version", "1.5")
    again = SdfDocument.parse(document.to_bytes())
    assert etree.tostring(again.root) == etree.tostring(document.root)
    assert document.to_bytes().decode() == text.replace('version="1.6"', 'version="1.5"', 1)


def test_syntax_error_is_reported_with_file_line_and_column(tmp_path):
    path = tmp_path / "broken.world"
    path.write_text('<sdf version="1.6">\n  <world name="w">\n  </sdf>\n')
    with pytest.raises(SdfError, match=r"broken\.world:3:9: Opening and ending tag mismatch"):
        SdfDocument.read(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<gazebo version="1.0"><world/></gazebo>', r"f:1: <gazebo version=…> .*; use a newer"),
        ("<robot name='r'/>", r"f:1: the root element is <robot>.*URDF, which only robots"),
        ("<scene/>", r"f:1: the root element is <scene>, not <sdf>$"),
        ("<sdf/>", r"f:1: <sdf> has version ''; write version"),
        ("<sdf version='1.0'/>", r"f:1: SDF version 1.0 is not supported"),
        ("", r"f:1:1: Document is empty"),
        (
            '<sdf version="1.6">' + 300 * '<model name="m">' + 300 * "</model>" + "</sdf>",
            r"f:1: <model> is at nesting depth 257; the limit is 256",
        ),
        (
            '<sdf version="1.6" xmlns:xacro="x"><world name="w">\n<xacro:crate/></world></sdf>',
            r"f:2: <xacro:crate> is a macro; expand the file: xacro FILE -o NEW_FILE$",
        ),
        (
            '<sdf version="1.6" xmlns:x="http://www.ros.org/wiki/xacro"><world name="w">\n<x:if/>'
            "</world></sdf>",
            r"f:2: <if> has the namespace of xacro, .* prefix xacro; write <xacro:if>",
        ),
        (
            '<!DOCTYPE a SYSTEM "x.dtd">\n<sdf version="1.6"><world>&a;0 0</world></sdf>',
            r"f:2: the entity &a; is not expanded; write its value",
        ),
        (
            '<!DOCTYPE a [<!ENTITY a "1">]>\n<sdf version="1.6"><world>&a; 0</world></sdf>',
            r"f:2: the entity &a; is not expanded; write its value",
        ),
    ],
)
def test_file_that_is_not_supported_sdf_is_rejected(text, problem):
    with pytest.raises(SdfError, match=problem):
        SdfDocument.parse(text, "f")


@pytest.mark.parametrize("version", ["1.2", "1.3", "1.7", "1.10"])
def test_versions_that_gazebo_11_converts_and_newer_ones_are_read(version):
    text = f"<sdf version='{version}'><world name='w'/></sdf>"
    assert SdfDocument.parse(text).world.get("name") == "w"


def test_missing_file_is_an_sdf_error(tmp_path):
    with pytest.raises(SdfError, match="cannot be read: No such file"):
        SdfDocument.read(tmp_path / "absent.world")


MALFORMED = {
    "undeclared attribute prefix": (
        '<sdf version="1.6">\n<world name="w" xyz:kind="a"/></sdf>',
        "line 2: declared the namespace prefix 'xyz'",
    ),
    "undeclared element prefix": (
        '<sdf version="1.6"><world name="w"><controller:diff/></world></sdf>',
        "line 1: declared the namespace prefix 'controller'",
    ),
    "two colons in the name of an element": (
        '<sdf version="1.6"><world name="w">\n<a::b><a::c k="d::e"/>f::g</a::b></world></sdf>',
        "line 2: removed one of two colons in <a::b>, line 2: removed one of two colons in <a::c>, "
        "line 2: declared the namespace prefix 'a'",
    ),
    "text after the root": (
        '<sdf version="1.6"><world name="w"/></sdf>\n\nqqq\n',
        "line 3: removed stray text 'qqq'",
    ),
    "text before the root": (
        'o<!-- hi --><sdf version="1.6"><world name="w"/></sdf>',
        "line 1: removed stray text 'o'",
    ),
    "late declaration": (
        '\n<!-- license -->\n<?xml version="1.0"?>\n<sdf version="1.6"><world name="w"/></sdf>',
        "line 3: moved the XML declaration to the start",
    ),
    "attribute without quotes": (
        '<sdf version="1.6">\n<world name=w>\n<pose frame=>1 2 3</pose></world></sdf>',
        "line 2: put quotes around the attribute value w, "
        "line 3: put quotes around the attribute value nothing",
    ),
    "hyphens in a comment": (
        '<sdf version="1.6"><!-- a -- b --->\n<world name="w"/></sdf>',
        "line 1: replaced '--' inside a comment by '=='",
    ),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_xml_that_only_gazebo_accepts_is_rejected_or_repaired_on_request(kind):
    text, repair = MALFORMED[kind]
    with pytest.raises(SdfError, match=r"f:\d+:\d+: .*--repair corrects it"):
        SdfDocument.parse(text, "f")
    document = SdfDocument.parse(text, "f", repair=True)
    assert ", ".join(map(str, document.repairs)) == repair
    assert document.world.get("name") == "w"
    again = SdfDocument.parse(document.to_bytes())
    assert again.world.get("name") == "w"


def test_double_colon_is_replaced_in_element_names_only():
    text = '<sdf><a::b k="d::e">f::g<!-- <h::i> --></a::b></sdf>'
    repaired, _ = repair_xml(text.encode())
    assert repaired == b'<sdf xmlns:a="undeclared:a"><a:b k="d::e">f::g<!-- <h::i> --></a:b></sdf>'


def test_repair_does_not_change_a_valid_file():
    assert repair_xml(WORLD.encode()) == (WORLD.encode(), ())


def test_repair_ignores_attribute_values():
    text = '<sdf version="1.6" xmlns:a="b"><world name="c:d e:f=" a:x="&lt;g:h/&gt;"/></sdf>'
    assert repair_xml(text.encode()) == (text.encode(), ())


def test_ambiguous_error_is_not_repaired():
    with pytest.raises(SdfError, match="correct the file"):
        SdfDocument.parse('<sdf version="1.6">q:r<world></sdf>', repair=True)
