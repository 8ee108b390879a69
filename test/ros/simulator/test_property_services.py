import math

import pytest
from gazebo_msgs import srv

from gz_testauto.base.errors import SimulatorError
from gz_testauto.ros.simulator.clock import SceneClock
from gz_testauto.ros.simulator.property_services import PropertyServices

SERVICES = PropertyServices(None, SceneClock())  # the requests are rejected before the loop is used


@pytest.mark.parametrize(
    ("field", "value", "match"),
    [
        ("ixx", math.nan, "ixx is nan; it must be finite"),
        ("ixy", math.inf, "ixy is inf; it must be finite"),
        ("izz", -1.0, "izz is -1.0; it must be at least 0"),
        ("com.position.x", math.nan, "com.position.x is nan; it must be finite"),
        ("com.orientation.w", math.nan, "com.orientation.w is nan; it must be finite"),
    ],
)
def test_invalid_numbers_of_link_properties_are_rejected(field, value, match):
    request = srv.SetLinkPropertiesRequest(link_name="robot::base", mass=1.0)
    *path, name = field.split(".")
    target = request
    for part in path:
        target = getattr(target, part)
    setattr(target, name, value)
    with pytest.raises(SimulatorError, match=match):
        SERVICES.set_link_properties(request)


def test_reference_point_that_is_not_finite_is_rejected():
    request = srv.ApplyBodyWrenchRequest(body_name="robot::base")
    request.reference_point.x = math.nan
    with pytest.raises(SimulatorError, match=r"reference_point\.x is nan; it must be finite"):
        SERVICES.apply_body_wrench(request)
