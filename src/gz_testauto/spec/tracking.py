"""What is known of who moves, to planners that ask for it.

Owns the shape of ``tracking:`` in a campaign::

    tracking: {}                                   # the truth, all of it
    tracking: {range_m: 30, delay_s: 0.2, occlusion: true, noise: {position_m: 0.1},
               prediction: constant_velocity}
"""

from typing import Optional

from pydantic import Field
from typing_extensions import Annotated, Literal

from gz_testauto.spec.model import LARGEST, Spec

NotNegative = Annotated[float, Field(ge=0, le=LARGEST)]


class TrackingNoiseSpec(Spec):
    """Standard deviations of normal noise, drawn for each object and stamp alone, the same for all
    planners."""

    position_m: NotNegative = 0.0
    """Along x and along y."""
    yaw_rad: NotNegative = 0.0
    speed_mps: NotNegative = 0.0
    """Of the velocity along x and along y."""


class TrackingSpec(Spec):
    """What a tracker on the robot tells of everything that moves but the robot itself."""

    range_m: Optional[Annotated[float, Field(gt=0, le=LARGEST)]] = None
    """From the robot's origin to an object's; null: everything."""
    delay_s: Annotated[float, Field(ge=0, le=10)] = 0.0
    """What is told was so this long ago, rounded up to a control period."""
    occlusion: bool = False
    """Whether what is behind something, seen from the robot's origin in the plane, is not told."""
    hold_last_s: Annotated[float, Field(ge=0, le=60)] = 0.0
    """For how long an object that is seen no more is told as it was last."""
    noise: TrackingNoiseSpec = TrackingNoiseSpec()
    prediction: Literal["script", "constant_velocity"] = "script"
    """Where an object will be: as it will itself, where it knows that, or by its velocity."""
    horizon_s: Annotated[float, Field(gt=0, le=60)] = 8.0
    """How far ahead paths are predicted."""
    step_s: Annotated[float, Field(gt=0, le=10)] = 0.1
    """Between two places of a path."""
