"""Looks and lights are read as SDF says and written so that they read back."""

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


def test_what_nobody_says_is_gray_solid_and_shown():
    assert read_appearance(*visual_of("")) == Appearance(GREY, GREY, BLACK, BLACK, 0.0, True)


def test_a_color_may_leave_its_alpha_out_and_stands_for_the_ambient_one():
    look = read_appearance(*visual_of("<material><diffuse>1 0.5 0</diffuse></material>"))
    assert look.diffuse == look.ambient == (1.0, 0.5, 0.0, 1.0)


def test_a_color_that_is_none_is_refused_with_its_line():
    with pytest.raises(SdfError, match=r"w.world:1: <diffuse> is 'red'; it must be 4 numbers"):
        read_appearance(*visual_of("<material><diffuse>red</diffuse></material>"))


def test_a_look_is_written_in_place_of_a_script():
    document, visual = visual_of("<material><script><name>Gazebo/Red</name></script></material>")
    look = Appearance((0.1, 0.2, 0.3, 1.0), (0.4, 0.5, 0.6, 1.0), transparency=0.5, visible=False)
    write_appearance(visual, look)
    assert read_appearance(document, visual) == look
    assert visual.find("material/script") is None
    write_appearance(visual, Appearance())
    assert read_appearance(document, visual) == Appearance()


def test_lights_are_those_that_are_written_and_those_that_are_included():
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


def test_a_light_that_is_written_reads_back():
    light = Light("point", Pose((1.0, 2.0, 3.0)), (0.1, 0.2, 0.3, 1.0), quadratic=0.5)
    element = etree.Element("light", name="l", type="point")
    write_light(element, light)
    document = document_of("")
    document.world.append(element)
    (found,) = read_lights(document, ModelLibrary())
    assert found[2] == light
