"""Validation of property changes by their constructors."""

import math

import pytest

from gz_testauto.base.pose import Pose
from gz_testauto.simulators.changes import (
    Push,
    SetFriction,
    SetGravity,
    SetLight,
    SetMass,
    SetModel,
    SetVisual,
)


@pytest.mark.parametrize(
    ("create", "match"),
    [
        (lambda: SetMass("a::b", -1.0), "SetMass of 'a::b': mass_kg is -1.0; it must be above 0"),
        (lambda: SetMass("a::b", math.nan), "mass_kg is nan; it must be finite"),
        (lambda: SetMass("a::b", 1e10), "mass_kg is 10000000000.0; it must be at most"),
        (lambda: SetFriction("a::b::c", 0.5, -0.1), "mu2 is -0.1; it must be at least 0"),
        (lambda: SetGravity(mps2=(0.0, math.inf, 0.0)), "mps2 is .*; it must be finite"),
        (lambda: Push("a::b", duration_s=0.0), "duration_s is 0.0; it must be above 0"),
        (lambda: Push("a::b", force_n=(1.0, 2.0)), "force_n is .*; it must be x, y and z"),
        (lambda: SetModel("a", Pose((math.nan, 0, 0))), "pose is .*; it must be finite"),
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
