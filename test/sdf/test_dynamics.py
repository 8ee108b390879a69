"""Mass, friction and joints are read from SDF for physics engines."""

import math

import numpy as np
import pytest

from gz_testauto.base.errors import SdfError
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.dynamics import read_gravity, read_inertial, read_joints, read_surface
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.tree import read_model


def model_of(inside, version="1.6"):
    document = SdfDocument.parse(f'<sdf version="{version}"><model name="m">{inside}</model></sdf>')
    return document, read_model(document, document.model, ModelLibrary([]))


def joints_of(joint, version="1.6", pose="0 0 0 0 0 0"):
    links = f'<link name="base"/><link name="arm"><pose>{pose}</pose></link>'
    return read_joints(model_of(links + joint, version)[1])


JOINT = """<joint name="j" type="{kind}"><parent>base</parent><child>arm</child>
<axis><xyz{more}>1 0 0</xyz>{limit}{frame}</axis></joint>"""
TURNED = f"1 0 0 0 0 {math.pi / 2}"


def joint(kind="revolute", limit="", frame="", more=""):
    return JOINT.format(kind=kind, limit=limit, frame=frame, more=more)


class TestInertial:
    def test_link_without_inertial_has_a_mass_of_one_kilogram(self):
        document, model = model_of('<link name="base"/>')
        inertial = read_inertial(document, model.links[0].element)
        assert inertial.mass_kg == 1.0
        assert np.array_equal(inertial.matrix, np.eye(3))

    def test_inertia_tensor_is_rotated_into_the_link_frame(self):
        document, model = model_of(
            f"""<link name="base"><inertial><pose>0.1 0 0 0 0 {math.pi / 2}</pose><mass>2</mass>
            <inertia><ixx>1</ixx><iyy>2</iyy><izz>2.5</izz></inertia></inertial></link>"""
        )
        inertial = read_inertial(document, model.links[0].element)
        assert inertial.center_m == (0.1, 0.0, 0.0)
        assert np.diag(inertial.matrix) == pytest.approx((2, 1, 2.5))
        assert inertial.is_possible

    def test_impossible_moments_of_inertia_are_detected(self):
        document, model = model_of(
            """<link name="base"><inertial><mass>1</mass>
            <inertia><ixx>1</ixx><iyy>1</iyy><izz>3</izz></inertia></inertial></link>"""
        )
        assert not read_inertial(document, model.links[0].element).is_possible

    def test_zero_mass_is_rejected(self):
        document, model = model_of('<link name="base"><inertial><mass>0</mass></inertial></link>')
        with pytest.raises(SdfError, match=r"base.*must be above 0"):
            read_inertial(document, model.links[0].element)

    def test_a_second_inertial_is_rejected(self):
        document, model = model_of(
            '<link name="base"><inertial><mass>1</mass></inertial><inertial/></link>'
        )
        with pytest.raises(SdfError, match=r"link 'base' has 2 <inertial> elements; keep one"):
            read_inertial(document, model.links[0].element)


class TestSurface:
    def test_a_decimal_comma_is_rejected(self):
        document, model = model_of(
            """<link name="a"><collision name="c"><surface><friction><ode><mu>1,5</mu></ode>
            </friction></surface></collision></link>"""
        )
        with pytest.raises(SdfError, match=r"<mu> is '1,5'; write a point in decimal numbers"):
            read_surface(document, model.links[0].element.find("collision"))

    @pytest.mark.parametrize("written", ["Inf", "inf", "1e30", "-1"])
    def test_infinite_friction_becomes_a_large_number(self, written):
        document, model = model_of(
            f"""<link name="a"><collision name="c"><surface><friction><ode><mu>{written}</mu></ode>
            </friction></surface></collision></link>"""
        )
        surface = read_surface(document, model.links[0].element.find("collision"))
        assert surface.mu >= 1e15
        assert np.isfinite(surface.mu)

    def test_default_friction_is_one(self):
        document, model = model_of('<link name="a"><collision name="c"/></link>')
        surface = read_surface(document, model.links[0].element.find("collision"))
        assert (surface.mu, surface.mu2, surface.collide_bitmask) == (1.0, 1.0, 0xFFFF)

    def test_friction_coefficients_and_bit_mask_are_read(self):
        document, model = model_of(
            """<link name="a"><collision name="c"><surface><friction><ode><mu>0.2</mu>
            <mu2>0.4</mu2></ode></friction><contact><collide_bitmask>0x02</collide_bitmask></contact>
            </surface></collision></link>"""
        )
        surface = read_surface(document, model.links[0].element.find("collision"))
        assert (surface.mu, surface.mu2, surface.collide_bitmask) == (0.2, 0.4, 2)


class TestJoints:
    def test_joint_axis_is_in_the_joint_frame_by_default(self):
        (found,) = joints_of(joint(), pose=TURNED)
        assert (found.parent, found.child) == ("base", "arm")
        assert found.axes[0].direction == pytest.approx((1, 0, 0))

    @pytest.mark.parametrize(
        ("version", "frame", "more"),
        [
            ("1.4", "", ""),
            ("1.6", "<use_parent_model_frame>true</use_parent_model_frame>", ""),
            ("1.7", "", ' expressed_in="__model__"'),
        ],
    )
    def test_joint_axis_is_in_the_model_frame_on_request_or_in_old_versions(
        self, version, frame, more
    ):
        (found,) = joints_of(joint(frame=frame, more=more), version, TURNED)
        assert found.axes[0].direction == pytest.approx((0, -1, 0))

    def test_huge_joint_limits_are_ignored(self):
        wide = "<limit><lower>-1e16</lower><upper>1e16</upper></limit>"
        narrow = "<limit><lower>-1</lower><upper>0.5</upper></limit>"
        assert joints_of(joint(limit=wide))[0].axes[0].limits is None
        assert joints_of(joint(limit=narrow))[0].axes[0].limits == (-1.0, 0.5)

    def test_joint_to_the_world_has_no_parent(self):
        (found,) = joints_of(
            '<joint name="j" type="fixed"><parent>world</parent><child>arm</child></joint>'
        )
        assert found.parent is None

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (joint(kind="screw"), r"'screw', .* not supported; .*gazebo supports it. Supported: "),
            (joint(kind="hinge"), r"'hinge', .*: .*revolute"),
            (joint().replace("base", "bass"), "parent 'bass', which is not a link"),
            (joint().replace("1 0 0", "0 0 0"), "must not be 0 0 0; write"),
        ],
    )
    def test_invalid_joint_is_rejected_with_the_reason(self, text, message):
        with pytest.raises(SdfError, match=message):
            joints_of(text)


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("", (0, 0, -9.8)),
        ("<gravity>0 0 -1.6</gravity>", (0, 0, -1.6)),
        ('<physics type="ode"><gravity>0 0 -3.7</gravity></physics>', (0, 0, -3.7)),
        ("<gravity>0 0 -9.8 0 0 -1 0 0 -2</gravity>", (0, 0, -9.8)),
    ],
)
def test_gravity_is_read_from_the_world_or_its_physics(inside, expected):
    document = SdfDocument.parse(f'<sdf version="1.6"><world name="w">{inside}</world></sdf>')
    assert read_gravity(document, document.world) == expected
