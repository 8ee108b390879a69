"""Interface of the ``localization_relay`` node."""

from typing import Any, Dict

from pydantic import Field

from gz_testauto.ros.interface import Node, NodeParameters
from gz_testauto.spec.worlds import SEEDS


class RelayParameters(NodeParameters):
    """The parameters of the ``localization_relay`` node."""

    odometry: Dict[str, Any] = Field(default_factory=dict)
    """Errors of the odometry, with the keys of ``localization.odometry`` in a campaign, see
    ``docs/localization.md``."""
    scale: float = Field(1.0, ge=0)
    """Factor of all errors."""
    wheel_separation_m: float = Field(gt=0)
    """Distance (m) between the left and the right wheels."""
    seed: int = Field(0, ge=0, lt=SEEDS)
    """Seed of the errors, in a campaign ``{seed}``."""
    publish_tf: bool = True
    """Publish the transform from the frame of the odometry to the robot's base."""


NODE = Node(
    "localization_relay",
    "Adds errors to the odometry of gazebo_ros, for a navigation stack. If time decreases or the "
    "robot is moved, the odometry starts again without errors.",
    RelayParameters,
)
TRUE_ODOM = NODE.subscribes("odom_true", "nav_msgs/Odometry", "odometry of gazebo_ros")
ODOM = NODE.publishes(
    "odom", "nav_msgs/Odometry", "odometry with errors, and with covariances of the random errors"
)
TF = NODE.publishes("/tf", "tf2_msgs/TFMessage", "the robot in the frame of the odometry")
