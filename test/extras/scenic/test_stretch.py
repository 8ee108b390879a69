"""Stretching a model, against values known on paper."""

import numpy as np
import pytest

from gz_testauto.base.errors import SdfError
from gz_testauto.extras.scenic.stretch import stretch_model
from gz_testauto.sdf.document import SdfDocument


def stretched(body, *factors):
    document = SdfDocument.parse(
        f'<sdf version="1.6"><model name="m">{body}</model></sdf>', "m.sdf"
    )
    stretch_model(document, document.model, np.array(factors))
    return document.model


def values(model, path):
    return [float(text) for text in model.findtext(path).split()]


BOX = (
    '<link name="l"><pose>1 1 1 0 0 0</pose><inertial><pose>0 0 0.5 0 0 0</pose><mass>12</mass>'
    "<inertia><ixx>13</ixx><iyy>10</iyy><izz>5</izz></inertia></inertial>"
    '<collision name="c"><pose>0 0 1 {turn}</pose><geometry><box><size>1 2 3</size></box>'
    "</geometry></collision></link>"
)


def test_stretching_multiplies_each_axis_by_its_factor():
    model = stretched(BOX.format(turn="0 0 0"), 2, 3, 4)
    assert values(model, "link/pose")[:3] == [2, 3, 4]
    assert values(model, "link/collision/pose")[:3] == [0, 0, 4]
    assert values(model, "link/collision/geometry/box/size") == [2, 6, 12]


def test_stretching_changes_mass_and_inertia_as_for_a_homogeneous_body():
    model = stretched(BOX.format(turn="0 0 0"), 2, 3, 4)
    mass = 12 * 24
    assert values(model, "link/inertial/mass") == [mass]
    assert values(model, "link/inertial/pose")[2] == 2
    x, y, z = 2, 6, 12
    assert values(model, "link/inertial/inertia/ixx") == [pytest.approx(mass / 12 * (y**2 + z**2))]
    assert values(model, "link/inertial/inertia/iyy") == [pytest.approx(mass / 12 * (x**2 + z**2))]
    assert values(model, "link/inertial/inertia/izz") == [pytest.approx(mass / 12 * (x**2 + y**2))]


def test_a_part_rotated_by_90_degrees_is_stretched_along_model_axes():
    model = stretched(BOX.format(turn="0 0 1.5707963267948966"), 2, 3, 4)
    assert values(model, "link/collision/geometry/box/size") == [3, 4, 12]


def test_stretching_a_rotated_part_by_unequal_factors_is_rejected():
    with pytest.raises(SdfError, match=r"m.sdf:1: model 'm' .* collision 'c' is not aligned"):
        stretched(BOX.format(turn="0 0 0.5"), 2, 3, 4)
    model = stretched(BOX.format(turn="0 0 0.5"), 2, 2, 2)
    assert values(model, "link/collision/geometry/box/size") == [2, 4, 6]


@pytest.mark.parametrize(
    ("shape", "factors"),
    [
        ("<sphere><radius>1</radius></sphere>", (1, 1, 2)),
        ("<cylinder><radius>1</radius><length>1</length></cylinder>", (1, 2, 1)),
    ],
)
def test_stretching_a_round_part_into_an_ellipse_is_rejected(shape, factors):
    with pytest.raises(SdfError, match="must remain circular"):
        stretched(
            f'<link name="l"><visual name="v"><geometry>{shape}</geometry></visual></link>',
            *factors,
        )


def test_a_stretched_mesh_without_a_scale_receives_a_scale():
    mesh = "<mesh><uri>a.stl</uri></mesh>"
    body = f'<link name="l"><visual name="v"><geometry>{mesh}</geometry></visual></link>'
    assert values(stretched(body, 2, 3, 4), "link/visual/geometry/mesh/scale") == [2, 3, 4]


def test_a_stretched_link_without_inertial_has_the_default_mass():
    model = stretched('<link name="l"/>', 2, 2, 2)
    assert values(model, "link/inertial/mass") == [8]
    assert values(model, "link/inertial/inertia/ixx") == [32]
