import re
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "gz_testauto"
PARSES = re.compile(
    r"etree\.(parse|fromstring|XML|iterparse)\(|XMLParser\(|xml\.(etree|dom)|make_parser|minidom"
)


def test_xml_is_parsed_in_one_module_without_external_entities():
    elsewhere = [
        f"{path.relative_to(SOURCE)}:{number}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.name != "xml_file.py"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if PARSES.search(line)
    ]
    assert elsewhere == []
