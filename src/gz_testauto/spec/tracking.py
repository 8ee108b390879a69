"""The tracked objects that a planner can request.

Defines the keys of ``tracking:`` in a campaign::


    tracking: {}                                   # all true states
    tracking: {range_m: 30, delay_s: 0.2, occlusion: true, noise: {position_m: 0.1},
               prediction: constant_velocity}
"""

from typing import Optional

from pydantic import Field
from typing_extensions import Annotated, Literal

from gz_testauto.spec.model import NotNegative, Positive, Spec


class TrackingNoiseSpec(Spec):
    """Standard deviations of normal noise, drawn for each object and stamp, the same for all
    planners."""

    position_m: NotNegative = 0.0
    """Noise (m) of the position along x and along y."""
    yaw_rad: NotNegative = 0.0
    """Noise (rad) of the heading."""
    speed_mps: NotNegative = 0.0
    """Noise (m/s) of the velocity along x and along y."""


class TrackingSpec(Spec):
    """The errors of a tracker on the robot, which reports everything that moves except the
    robot."""

    range_m: Optional[Positive] = None
    """Largest distance (m) between the origins of robot and object; null: no limit."""
    delay_s: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Age (s) of the reported state, rounded up to a control period."""
    occlusion: bool = False
    """True if objects behind others, seen from the robot's origin in the plane, are not
    reported."""
    hold_last_s: Annotated[float, Field(ge=0, le=60)] = 0.0
    """Time (s) for which an object that is no longer visible is still reported at its last pose."""
    noise: TrackingNoiseSpec = TrackingNoiseSpec()
    """Noise of the reported state; default: none."""
    prediction: Literal["script", "constant_velocity"] = "script"
    """The predicted path of an object: that of its script if it has one, or at constant
    velocity."""
    horizon_s: Annotated[float, Field(gt=0, le=60)] = 8.0
    """Duration (s) of the predicted path."""
    step_s: Annotated[float, Field(gt=0, le=10)] = 0.1
    """Time (s) between two poses of a path."""
