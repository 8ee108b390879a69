"""Color images by rays: colors and shades that are known on paper."""

import math
from dataclasses import replace

import numpy as np
import pytest

from gz_testauto.base.errors import SpecError
from gz_testauto.base.observation import ModelState
from gz_testauto.base.pose import Pose
from gz_testauto.extras.colliders.images import AMBIENT, BACKGROUND, Painter
from gz_testauto.extras.colliders.views import Frustum
from gz_testauto.simulators.changes import SetLight, SetVisual
from gz_testauto.simulators.embedded import EmbeddedSimulator
from gz_testauto.simulators.interface import Scene

WORLD = """<?xml version="1.0"?><sdf version="1.6"><world name="default">
<light name="sun" type="directional"><pose>0 0 10 0 0 0</pose><diffuse>0.5 0.5 0.5 1</diffuse>
<direction>1 0 0</direction></light>
<model name="ground"><static>true</static><link name="link"><visual name="floor">
<geometry><plane><normal>0 0 1</normal><size>50 50</size></plane></geometry>
<material><ambient>0.2 0.6 0.2 1</ambient><diffuse>0.2 0.6 0.2 1</diffuse></material></visual>
<collision name="c"><geometry><plane><normal>0 0 1</normal><size>50 50</size></plane></geometry>
</collision></link></model>
{models}</world></sdf>"""
THING = """<model name="{name}"><static>{static}</static><pose>{pose}</pose><link name="link">
<pose>0 0 0.2 0 0 0</pose><visual name="look">{geometry}
<material><ambient>{color} 1</ambient><diffuse>{color} 1</diffuse></material></visual>
<collision name="c">{geometry}</collision></link></model>"""
BOX = "<geometry><box><size>1 1 1</size></box></geometry>"
BALL = "<geometry><sphere><radius>0.5</radius></sphere></geometry>"
VIEW = Frustum(Pose((0.0, 0.0, 1.0)), math.radians(40), aspect=1.0, far_m=20.0)
SKY = tuple(round(255 * value) for value in BACKGROUND)


@pytest.fixture
def paint(tmp_path):
    """Return a function that renders a world of given models after changes."""

    def draw(*things, changes=(), states=None, view=VIEW, size=(33, 33)):
        path = tmp_path / "painted.world"
        path.write_text(WORLD.format(models="".join(things)))
        scene = Scene(path)
        with EmbeddedSimulator() as simulator:
            simulation = simulator.load(scene)
            simulation.apply(list(changes))
            if states:
                simulation.set_states(states)
            painter = Painter(scene)
            assert not painter.notes
            return painter.image(simulation.snapshot(), simulation.describe(), view, *size)

    return draw


def thing(name="box", geometry=BOX, pose="4 0 0.8 0 0 0", color="0.8 0.1 0.1", static="true"):
    return THING.format(name=name, geometry=geometry, pose=pose, color=color, static=static)


def shade(color, cosine):
    """Of a surface at that angle to the sun, which shines along +x at half strength."""
    return [round(255 * value * (AMBIENT + 0.5 * cosine)) for value in color]


def test_a_face_towards_a_directional_light_has_the_full_brightness(paint):
    image = paint(thing())
    assert image.shape == (33, 33, 3) and image.dtype == np.uint8
    assert image[16, 16].tolist() == shade((0.8, 0.1, 0.1), 1.0)
    assert tuple(image[0, 0]) == SKY
    assert image[32, 0].tolist() == shade((0.2, 0.6, 0.2), 0.0), "the floor, which the sun grazes"


def test_the_brightness_of_a_tilted_face_is_the_cosine_of_its_angle(paint):
    image = paint(thing(pose=f"4 0 0.8 0 0 {math.radians(30)}"), size=(65, 65))
    assert (
        np.abs(image[32, 32].astype(int) - shade((0.8, 0.1, 0.1), math.cos(math.pi / 6))).max() < 2
    )


def test_a_sphere_is_darker_at_its_edge(paint):
    image = paint(thing(geometry=BALL), size=(129, 129))
    row = image[64, :, 0].astype(int)
    (ball,) = np.nonzero(row != SKY[0])
    assert row[64] == pytest.approx(shade((0.8, 0.1, 0.1), 1.0)[0], abs=1)
    assert np.all(np.diff(row[64 : ball[-1] - 1]) <= 1)
    away = (ball[-1] - 64) * 0.7  # of its half: sin of the angle, but for the perspective
    assert row[round(64 + away)] < row[64] - 15


def test_changed_visuals_and_lights_are_rendered(paint):
    blue = SetVisual("box::link::look", ambient=(0, 0, 1, 1), diffuse=(0, 0, 1, 1))
    assert paint(thing(), changes=[blue])[16, 16].tolist() == shade((0, 0, 1), 1.0)
    glowing = SetVisual("box::link::look", emissive=(0.0, 0.5, 0.0, 1.0))
    assert paint(thing(), changes=[glowing])[16, 16, 1] == round(255 * (0.1 * 0.9 + 0.5))
    gone = SetVisual("box::link::look", visible=False)
    assert tuple(paint(thing(), changes=[gone])[12, 16]) == SKY
    dark = SetLight("sun", diffuse=(0.0, 0.0, 0.0, 1.0))
    assert paint(thing(), changes=[dark])[16, 16, 0] == round(255 * 0.8 * AMBIENT)


def test_a_nearer_shape_hides_a_shape_behind_it(paint):
    near = thing("near", pose="2 0 0.8 0 0 0", color="0.1 0.1 0.9", static="false")
    assert paint(thing(), near)[16, 16].tolist() == shade((0.1, 0.1, 0.9), 1.0)
    aside = {"near": ModelState(Pose((2.0, 5.0, 0.8)))}
    assert paint(thing(), near, states=aside)[16, 16].tolist() == shade((0.8, 0.1, 0.1), 1.0)


def test_a_point_light_is_attenuated_by_distance_and_limited_in_range(paint):
    lamp = (
        '<light name="lamp" type="point"><pose>1 0 1 0 0 0</pose><diffuse>1 1 1 1</diffuse>'
        "<attenuation><range>{range_m}</range><constant>0</constant><linear>0.5</linear>"
        "<quadratic>0</quadratic></attenuation></light>"
    )
    dark = SetLight("sun", diffuse=(0.0, 0.0, 0.0, 1.0))
    for range_m, lit in ((10, 0.8), (2, 0.0)):  # 2.5 m to the box: 1 / (0.5 * 2.5)
        image = paint(lamp.format(range_m=range_m), thing(), changes=[dark])
        assert image[16, 16, 0] == pytest.approx(255 * 0.8 * (AMBIENT + lit), abs=1.5)


def test_an_image_without_pixels_is_rejected(paint):
    with pytest.raises(SpecError, match="0 x 5 pixels"):
        paint(thing(), size=(0, 5))


def test_a_rendered_view_is_limited_by_its_far_plane(paint):
    assert tuple(paint(thing(), view=replace(VIEW, far_m=3.0))[16, 16]) == SKY
