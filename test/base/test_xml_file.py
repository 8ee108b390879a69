import pytest

from gz_testauto.base.errors import ResourceError
from gz_testauto.base.resources import model_file
from gz_testauto.base.xml_file import parse_xml, read_xml


def test_xml_entity_of_another_file_is_not_expanded(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("password")
    (tmp_path / "x.xml").write_text(
        f'<!DOCTYPE a [<!ENTITY e SYSTEM "file://{secret}">]><a><b>&e;</b></a>'
    )
    root = read_xml(tmp_path / "x.xml")
    assert "password" not in "".join(root.itertext("a", "b"))


def test_xml_entity_inside_the_same_file_is_not_expanded():
    root = parse_xml(b'<!DOCTYPE a [<!ENTITY e "text">]><a>&e;</a>')
    assert not root.text


def test_xml_entity_in_a_model_config_does_not_name_a_file(tmp_path):
    (tmp_path / "model.sdf").write_text("<sdf version='1.6'/>")
    (tmp_path / "secret").write_text("model.sdf")
    (tmp_path / "model.config").write_text(
        f'<!DOCTYPE m [<!ENTITY e SYSTEM "file://{tmp_path}/secret">]>'
        "<model><sdf version='1.6'>&e;</sdf><sdf version='1.5'>model.sdf</sdf></model>"
    )
    with pytest.raises(ResourceError, match="names no <sdf> file"):
        model_file(tmp_path)
