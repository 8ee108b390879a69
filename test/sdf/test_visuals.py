"""Models whose visuals and collision shapes differ at the height of a lidar are found."""

import pytest

from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.scene import read_scene
from gz_testauto.sdf.visuals import models_with_other_visuals

BOX = "<geometry><box><size>{} {} {}</size></box></geometry>"
HEIGHT_M = 0.3


def part(tag, x=0.0, y=0.0, z=0.5, size=(1.0, 1.0, 1.0)):
    """Return a box as a collision or visual, at a position in its link."""
    name = f"{tag}_{x}_{y}_{z}"
    return f'<{tag} name="{name}"><pose>{x} {y} {z} 0 0 0</pose>{BOX.format(*size)}</{tag}>'


def names(content, height_m=HEIGHT_M):
    model = f'<model name="m"><static>1</static><pose>2 1 0 0 0 0.4</pose>{content}</model>'
    ground = "<include><uri>model://ground_plane</uri></include>"
    text = f'<sdf version="1.6"><world name="w">{ground}{model}</world></sdf>'
    return models_with_other_visuals(read_scene(SdfDocument.parse(text)), height_m)


def link(*parts):
    return f'<link name="l">{"".join(parts)}</link>'


SOLID = part("collision")
LEGS = [part("visual", x, y, size=(0.06, 0.06, 1)) for x in (-0.47, 0.47) for y in (-0.47, 0.47)]


@pytest.mark.parametrize(
    ("content", "differs"),
    [
        (link(SOLID, part("visual")), False),
        (link(SOLID), True),
        (link(part("visual")), True),
        (link(SOLID, *LEGS), True),  # their bounds are equal
        (link(SOLID, part("visual", size=(1.06, 1.06, 1))), False),
        (link(SOLID, part("visual", size=(1.12, 1.0, 1))), True),
        (link(part("collision", size=(1, 0.02, 1)), part("visual", size=(1.2, 0.02, 1))), True),
        (link(SOLID, part("visual", z=0.25, size=(1, 1, 0.5))), False),  # equal at the height
        (link(SOLID, part("visual", z=0.9, size=(1, 1, 0.2))), True),
        (link(part("collision", z=0.05, size=(9, 9, 0.1))), False),  # below the lidar
        (f'<model name="n"><pose>0.3 0 0 0 0 0</pose>{link(SOLID, part("visual"))}</model>', False),
        (f'<model name="n">{link(SOLID, part("visual", x=0.3))}</model>', True),
        (link(SOLID, "<visual name='v'><geometry><empty/></geometry></visual>"), True),
    ],
)
def test_models_that_differ_at_the_height_of_the_lidar_are_named(content, differs):
    assert names(content) == (("m",) if differs else ())


@pytest.mark.parametrize(
    "geometry",
    [
        "<mesh><uri>model://nowhere/a.dae</uri></mesh>",
        "<box><size>1 x 1</size></box>",
        "<heightmap><uri>file://nowhere.png</uri></heightmap>",
    ],
)
def test_a_visual_that_cannot_be_read_is_no_error(geometry):
    visual = f'<visual name="v"><geometry>{geometry}</geometry></visual>'
    assert names(link(SOLID, visual)) == ()
