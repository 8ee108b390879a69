"""The robot's outline on the ground, at a pose."""

import math

import numpy as np
import shapely

from gz_testauto.pose import Pose2D


def footprint_at(outline_m: np.ndarray, pose: Pose2D) -> shapely.Polygon:
    """Place an outline, shape (n, 2) in the base frame, at ``pose`` in the world frame."""
    cos, sin = math.cos(pose.yaw_rad), math.sin(pose.yaw_rad)
    turned = outline_m @ np.array([[cos, sin], [-sin, cos]])
    return shapely.polygons(turned + np.array([pose.x_m, pose.y_m]))
