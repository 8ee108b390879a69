"""The ``localization_relay`` node: adds errors to the odometry of gazebo_ros.

:mod:`~gz_testauto.extras.localization.interface` has its parameters and topics.
"""

from pathlib import Path

import rospy
import yaml
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from tf2_msgs.msg import TFMessage

from gz_testauto.base import ros_messages
from gz_testauto.extras.localization import interface
from gz_testauto.extras.localization.relay import OdometryRelay
from gz_testauto.extras.localization.spec import OdometryErrorSpec
from gz_testauto.ros.graph import advertise, subscribe
from gz_testauto.ros.node import read_parameters, run_node
from gz_testauto.ros.simulator.odometry import as_message_covariance
from gz_testauto.spec.loader import parse

QUEUE_SIZE = 100


class RelayNode:
    """The connection of an :class:`OdometryRelay` with the ROS graph."""

    def __init__(self, parameters: interface.RelayParameters) -> None:
        """Register the topics. Raises ``SpecError`` for invalid errors of the odometry."""
        name = rospy.resolve_name("~odometry")
        text = yaml.safe_dump(parameters.odometry)
        spec = parse(text, OdometryErrorSpec, Path(name), f"parameter {name}")
        self._relay = OdometryRelay(
            spec, parameters.wheel_separation_m, parameters.seed, parameters.scale
        )
        self._publish_tf = parameters.publish_tf
        self._odom = advertise(interface.ODOM, QUEUE_SIZE)
        self._transforms = advertise(interface.TF, QUEUE_SIZE)
        subscribe(interface.TRUE_ODOM, self._on_odometry)

    def _on_odometry(self, message: Odometry) -> None:
        """Publish the odometry with errors. The height, the tilt and the lateral speed of the
        message are not published, since wheels do not measure them."""
        model = self._relay.add(
            message.header.stamp.to_sec(),
            ros_messages.pose_of(message.pose.pose).planar,
            ros_messages.command_of(message.twist.twist),
        )
        pose = model.pose.to_pose(message.pose.pose.position.z)
        found = Odometry(header=message.header, child_frame_id=message.child_frame_id)
        found.pose.pose = ros_messages.pose_message(pose)
        found.pose.covariance = as_message_covariance(model.covariance)
        found.twist.twist = ros_messages.command_message(model.twist)
        found.twist.covariance = as_message_covariance(model.twist_covariance)
        if self._publish_tf:
            transform = ros_messages.transform_message(pose)
            moved = TransformStamped(message.header, message.child_frame_id, transform)
            self._transforms.publish(TFMessage([moved]))
        self._odom.publish(found)


def start() -> int:
    """Relay odometry until shutdown."""
    RelayNode(read_parameters(interface.RelayParameters))
    rospy.spin()
    return 0


def main() -> int:
    """Run the ``localization_relay`` node. This function is the entry point of the script."""
    return run_node("localization_relay", start)


if __name__ == "__main__":
    raise SystemExit(main())
