"""Validation of property changes by their constructors, and of the names that they address."""

import math

import pytest

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.scene import read_scene
from gz_testauto.simulators.changes import (
    Push,
    SetFriction,
    SetGravity,
    SetJoint,
    SetLight,
    SetLink,
    SetMass,
    SetModel,
    SetVisual,
)
from gz_testauto.simulators.description import DescribedWorld
from gz_testauto.simulators.gazebo.changes import check


@pytest.mark.parametrize(
    ("create", "match"),
    [
        (
            lambda: SetMass("a::b", -1.0),
            "SetMass of 'a::b': mass_kg is -1.0; it must be at least 1e",
        ),
        (lambda: SetMass("a::b", 1e-12), "mass_kg is 1e-12; it must be at least 1e-06"),
        (lambda: SetMass("a::b", math.nan), "mass_kg is nan; it must be finite"),
        (lambda: SetMass("a::b", 1e10), "mass_kg is 10000000000.0; it must be at most"),
        (lambda: SetFriction("a::b::c", 0.5, -0.1), "mu2 is -0.1; it must be at least 0"),
        (lambda: SetGravity(mps2=(0.0, math.inf, 0.0)), "mps2 is .*; it must be finite"),
        (lambda: Push("a::b", duration_s=0.0), "duration_s is 0.0; it must be above 0"),
        (lambda: Push("a::b", force_n=(1.0, 2.0)), "force_n is .*; it must be x, y and z"),
        (lambda: SetModel("a", Pose((math.nan, 0, 0))), "pose is .*; it must be finite"),
        (lambda: SetModel("a", Pose((0, -1.1e6, 0))), r"pose is .*; it must be from -1e\+06 to 1e"),
        (lambda: SetModel("a", linear_mps=(0, 1e300, 0)), "linear_mps is .* from -1000 to 1000"),
        (lambda: SetLink("a::b", angular_radps=(0, 0, -1e5)), "angular_radps is .* from -1000"),
        (lambda: SetJoint("a::b", 1e300), "position is 1e.300; it must be from"),
        (lambda: SetJoint("a::b", velocity=1e5), "velocity is 100000.0; it must be from"),
        (lambda: SetGravity(mps2=(0.0, 0.0, -1e30)), "mps2 is .*; it must be from -1000 to 1000"),
        (lambda: Push("a::b", (1e30, 0.0, 0.0)), "force_n is .*; it must be from"),
        (lambda: Push("a::b", torque_nm=(0.0, 0.0, 1e30)), "torque_nm is .*; it must be from"),
        (
            lambda: SetVisual("a::b::c", diffuse=(1, 0, 0)),
            r"diffuse is \(1, 0, 0\); it must be red, green, blue and alpha",
        ),
        (lambda: SetVisual("a::b::c", transparency=1.5), "transparency is 1.5; it must be at most"),
        (lambda: SetLight("sun", range_m=-1.0), "range_m is -1.0; it must be at least 0"),
    ],
)
def test_invalid_value_of_a_change_raises_with_field_and_limit(create, match):
    with pytest.raises(ValueError, match=match):
        create()


@pytest.fixture
def described(tmp_path):
    """Return a world with a model whose name contains ``::``."""
    world = tmp_path / "room.world"
    world.write_text(
        '<sdf version="1.6"><world name="default"><model name="room::crate"><link name="l">'
        '<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision>'
        '</link></model><model name="room"><link name="l"/></model></world></sdf>'
    )
    return DescribedWorld(read_scene(world))


@pytest.mark.parametrize(
    "change", [SetMass("room::crate::l", 1.0), SetFriction("room::crate::l::c", 0.1, 0.1)]
)
def test_part_of_a_model_with_colons_in_its_name_cannot_be_changed(described, change):
    with pytest.raises(
        SimulatorError, match=f"{change.name}' is a part of the model 'room::crate'"
    ):
        described.require(change)
    described.require(SetMass("room::l", 1.0))
    described.require(SetModel("room::crate", Pose()))
    described.remove("room::crate")
    with pytest.raises(SimulatorError, match="unknown"):
        described.require(change)


def test_gazebo_does_not_set_the_twist_of_a_model_with_colons_in_its_name(described):
    with pytest.raises(SimulatorError, match="the twist of 'room::crate'"):
        check(SetModel("room::crate", linear_mps=(1, 0, 0)), lambda: described.now)
