"""Ground of a world, and heights at which a model obstructs a robot."""

import math

import numpy as np
import pytest

from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.floor import ANY_ROBOT, Heights, is_floor_slab, obstructing_heights
from gz_testauto.sdf.scene import read_scene


def test_obstructing_heights_end_at_the_ground_tolerance_and_the_highest_point():
    assert obstructing_heights((0.0, 0.3)) == (0.02, 0.3)
    assert obstructing_heights((0.05, 0.3)) == pytest.approx((0.07, 0.3))


def test_body_below_the_origin_of_its_model_is_lifted_onto_the_ground():
    assert obstructing_heights((-0.1, 0.2)) == pytest.approx((0.02, 0.3))


def test_wide_flat_and_low_slab_is_ground():
    def slab(length, width, top, thickness):
        return np.array([[0, length], [0, width], [top - thickness, top]])

    assert is_floor_slab(slab(2.0, 30.0, 0.1, 0.2))
    assert not is_floor_slab(slab(1.9, 30.0, 0.1, 0.1))
    assert not is_floor_slab(slab(2.0, 30.0, 0.11, 0.1))
    assert not is_floor_slab(slab(2.0, 30.0, 0.1, 0.21))


def test_heights_can_be_relative_to_any_ground():
    assert Heights(0.02, 0.3).above(-0.1) == pytest.approx((0.12, 0.4))
    assert ANY_ROBOT.overlap(2.0, 3.0) and not ANY_ROBOT.overlap(2.1, 3.0)
    assert ANY_ROBOT.overlap(-1.0, 0.02) and not ANY_ROBOT.overlap(-1.0, 0.01)


ROBOT = """<sdf version="1.6"><model name="robot"><link name="base">
<collision name="body"><pose>0 0 0.2 0 0 0</pose><geometry><box><size>1 1 0.2</size></box>
</geometry></collision>
<collision name="caster"><pose>0 0 {caster} 0 0 0</pose><geometry><sphere><radius>0.05</radius>
</sphere></geometry></collision>
<collision name="wheel"><pose>0 0 0.1 1.5707963 0 0</pose><geometry><cylinder><radius>0.1</radius>
<length>0.04</length></cylinder></geometry></collision></link></model></sdf>"""


@pytest.mark.parametrize(
    "caster,body", [(0.069, {"body"}), (0.071, {"body", "caster"}), (math.pi, {"body", "caster"})]
)
def test_shape_near_the_ground_does_not_belong_to_the_body_of_a_robot(caster, body):
    scene = read_scene(SdfDocument.parse(ROBOT.format(caster=caster), "robot"))
    shapes = scene.models["robot"].body_shapes
    assert {shape.scoped_name.rsplit("::", 1)[-1] for shape in shapes} == body
