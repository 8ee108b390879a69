"""Appearances and lights are read with the defaults of SDF, and written without loss."""

import pytest
from lxml import etree

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.appearance import (
    BLACK,
    GREY,
    Appearance,
    Light,
    read_appearance,
    read_lights,
    write_appearance,
    write_light,
)
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.includes import ModelLibrary


def document_of(body):
    return SdfDocument.parse(f'<sdf version="1.6"><world name="w">{body}</world></sdf>', "w.world")


def visual_of(inside):
    document = document_of(
        f'<model name="m"><link name="l"><visual name="v">{inside}</visual></link></model>'
    )
    return document, document.world.find(".//visual")


def test_visual_without_material_is_gray_opaque_and_visible():
    assert read_appearance(*visual_of("")) == Appearance(GREY, GREY, BLACK, BLACK, 0.0, True)


def test_missing_alpha_is_one_and_missing_ambient_color_is_the_diffuse_one():
    look = read_appearance(*visual_of("<material><diffuse>1 0.5 0</diffuse></material>"))
    assert look.diffuse == look.ambient == (1.0, 0.5, 0.0, 1.0)


def test_invalid_color_is_rejected_with_its_line():
    with pytest.raises(SdfError, match=r"w.world:1: <diffuse> is 'red'; it must be 4 numbers"):
        read_appearance(*visual_of("<material><diffuse>red</diffuse></material>"))


def test_appearance_replaces_the_material_script_of_a_visual():
    document, visual = visual_of("<material><script><name>Gazebo/Red</name></script></material>")
    look = Appearance((0.1, 0.2, 0.3, 1.0), (0.4, 0.5, 0.6, 1.0), transparency=0.5, visible=False)
    write_appearance(visual, look)
    assert read_appearance(document, visual) == look
    assert visual.find("material/script") is None
    write_appearance(visual, Appearance())
    assert read_appearance(document, visual) == Appearance()


def test_lights_of_the_world_and_of_includes_are_read():
    document = document_of(
        '<include><uri>model://sun</uri></include><light name="lamp" type="spot">'
        "<pose>0 0 3 0 0 0</pose><attenuation><range>5</range><linear>0.1</linear></attenuation>"
        "<cast_shadows>1</cast_shadows></light>"
    )
    lights = {name: light for name, _, light in read_lights(document, ModelLibrary())}
    assert set(lights) == {"sun", "lamp"}
    assert lights["sun"].kind == "directional"
    lamp = Light("spot", Pose((0.0, 0.0, 3.0)), range_m=5.0, linear=0.1, cast_shadows=True)
    assert lights["lamp"] == lamp


def test_written_light_is_read_with_the_same_values():
    light = Light("point", Pose((1.0, 2.0, 3.0)), (0.1, 0.2, 0.3, 1.0), quadratic=0.5)
    element = etree.Element("light", name="l", type="point")
    write_light(element, light)
    document = document_of("")
    document.world.append(element)
    (found,) = read_lights(document, ModelLibrary())
    assert found[2] == light
