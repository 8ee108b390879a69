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
    def __init__(self, parameters: interface.RelayParameters) -> None:
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
        # Wheels measure neither height nor tilt nor lateral speed, so these are not published.
        model = self._relay.add(
            message.header.stamp.to_sec(),
            ros_messages.pose_of(message.pose.pose).planar,
            ros_messages.command_of(message.twist.twist),
        )
        pose = model.pose.to_pose(message.pose.pose.position.z)
        odometry = Odometry(header=message.header, child_frame_id=message.child_frame_id)
        odometry.pose.pose = ros_messages.pose_message(pose)
        odometry.pose.covariance = as_message_covariance(model.covariance)
        odometry.twist.twist = ros_messages.command_message(model.twist)
        odometry.twist.covariance = as_message_covariance(model.twist_covariance)
        if self._publish_tf:
            transform = ros_messages.transform_message(pose)
            stamped = TransformStamped(message.header, message.child_frame_id, transform)
            self._transforms.publish(TFMessage([stamped]))
        self._odom.publish(odometry)


def start() -> int:
    RelayNode(read_parameters(interface.RelayParameters))
    rospy.spin()
    return 0


def main() -> int:
    return run_node("localization_relay", start)


if __name__ == "__main__":
    raise SystemExit(main())
