"""Bags of a robot in a room of 8 m x 6 m with a box, whose scans are computed exactly."""

import numpy as np
import shapely

from gz_testauto.base.observation import LaserScan, Twist2D
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.extras.field.bag_file import BagFile
from gz_testauto.extras.field.rays import cast_rays
from gz_testauto.grid.occupancy import OccupancyGrid, cells_with_center_inside
from gz_testauto.trial.outcome import Outcome

CELL_M = 0.05
FINE_M = 0.01
WALLS = shapely.box(0, 0, 8, 6) - shapely.box(0.2, 0.2, 7.8, 5.8)
BOX = shapely.affinity.rotate(shapely.box(4.0, 3.2, 5.0, 3.8), 20)
GRID = OccupancyGrid.rasterize([WALLS], (0, 0, 8, 6), CELL_M)
MOUNT = Pose.from_rpy(0.2, 0.0, 0.3, 0.0, 0.0, 0.0)
ANGLES = np.linspace(-np.pi, np.pi, 181)
GOAL = Pose2D(7.0, 5.0)


class BareBag(BagFile):
    """A bag without tf and without a localizer."""

    def _write(self, topic, *values):
        if topic not in ("/tf", "/tf_static", "/amcl_pose"):
            super()._write(topic, *values)


class ReplayedBag(BagFile):
    """A bag that was recorded while another one was played: its stamps are 30,000,000 s earlier."""

    def __init__(self, path):
        super().__init__(path)
        self.recorded_before_s = -3e7

    def _stamp(self, time_s):
        return super()._stamp(time_s + self.recorded_before_s)


class Result:
    """The parts of a trial's result that a bag contains."""

    def __init__(self, times_s, outcome):
        self.outcome, self.detail = outcome, "in a room"
        self.recording = self
        self.time_s, self.command = times_s, np.tile([0.5, 0.2], (len(times_s), 1))


def poses(duration_s):
    """Return poses on a curve, at 10 Hz."""
    times_s = np.arange(0.0, duration_s, 0.1)
    yaw = 0.3 * times_s - 0.6 * np.sin(1.5 * times_s)
    step_m = 0.05 * np.column_stack([np.cos(yaw), np.sin(yaw)])
    xy = np.array([1.5, 1.2]) + np.cumsum(step_m, axis=0) - step_m[0]
    return times_s, [Pose2D(*map(float, row)) for row in zip(*xy.T, yaw)]


def scan_at(pose, time_s, shapes, angles=ANGLES, mount=MOUNT, range_m=8.0):
    """Return the scan among ``shapes``; the rays are cast on cells of 1 cm."""
    cells = cells_with_center_inside(np.array(shapes), (0.0, 0.0), (600, 800), FINE_M)
    origin = pose.apply(np.array([mount.position[:2]]))
    turn = mount.rotation @ np.array([np.cos(angles), np.sin(angles), 0 * angles])
    directions = Pose2D(0.0, 0.0, pose.yaw_rad).apply(turn[:2].T)
    starts = np.tile(origin / FINE_M, (len(angles), 1))
    ranges = cast_rays(cells, starts, np.ascontiguousarray(directions), range_m / FINE_M) * FINE_M
    return LaserScan(time_s, angles[0], angles[-1], 0.1, range_m, ranges, mount)


def write_bag(
    path,
    duration_s=5.0,
    outcome=Outcome.STUCK,
    shapes=(BOX,),
    walker=None,
    grid=GRID,
    mount=MOUNT,
    reported_mount=None,
    lag_s=0.0,
    carried_s=None,
    kind=BagFile,
    range_m=8.0,
):
    """Write a bag; ``walker(time_s)`` is the center of a moving disc. ``lag_s`` is subtracted from
    the stamps of scans, and from ``carried_s`` on the robot is elsewhere without odometry."""
    times_s, path_poses = poses(duration_s)
    with kind(path) as bag:
        bag.write_map(grid)
        bag.write_goal(0.0, GOAL)
        for time_s, pose in zip(times_s.tolist(), path_poses):
            seen = [WALLS, *shapes]
            if walker is not None:
                seen.append(shapely.Point(walker(time_s)).buffer(0.25))
            true_pose = pose
            if carried_s is not None and time_s >= carried_s:
                true_pose = Pose2D(6.5, 1.5, pose.yaw_rad + 2.0)
            bag.write_pose(
                time_s, pose, Pose2D(pose.x_m - 1, pose.y_m, pose.yaw_rad), Twist2D(0.5, 0.2)
            )
            scan = scan_at(true_pose, time_s - lag_s, seen, mount=mount, range_m=range_m)
            scan = LaserScan(*list(vars(scan).values())[:-1], reported_mount or mount)
            bag.write_scan(scan)
        bag.finish(Result(times_s, outcome))
    return path
