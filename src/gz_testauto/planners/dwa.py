"""The planner ``dwa``, the Dynamic Window Approach of https://wiki.ros.org/dwa_local_planner."""

import math
from typing import List, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.observation import Twist2D
from gz_testauto.base.parameters import Count, NotNegative, Positive
from gz_testauto.base.pose import Pose2D, wrap_angle
from gz_testauto.planners.costmap import INSCRIBED, LETHAL, LocalCostmap
from gz_testauto.planners.detour import DetourPlanner
from gz_testauto.planners.interface import LocalPlanner, Observation, Task
from gz_testauto.planners.limits import (
    DefaultDecay,
    DefaultDuration,
    DefaultLength,
    SpeedLimiter,
    value_for_robot,
)
from gz_testauto.planners.scans import ray_ends
from gz_testauto.planners.sweep import ConvexFootprint
from gz_testauto.planners.trajectories import (
    Distances,
    Weights,
    rollout,
    trajectory_costs,
    velocity_samples,
)
from gz_testauto.planners.voxels import VoxelCostmap

ROUNDING_MPS = 1e-4  # tolerance for the least speeds (m/s, rad/s), as in ``dwa_local_planner``
ARRIVAL = 0.8  # fraction of the goal's tolerance within which the robot stops
REPLANNING_S = 1.0
POSES_S = 2.0  # largest age of the poses that are kept for readings with a delay

# Duration of the motions that free a robot without a valid trajectory, and checked poses on each.
RECOVERY_S, RECOVERY_POSES = 1.0, 21

# Largest speed of these motions, and distance from obstacles below which they must not decrease it.
RECOVERY_SPEED_MPS, RECOVERY_GAP_CELLS = 0.15, 1.5


def _pose_at(poses: Sequence[Tuple[float, Pose2D]], stamp_s: float) -> Pose2D:
    """Return the pose at ``stamp_s``, interpolated between the first two of ``poses``."""
    (begin_s, begin), (end_s, end) = poses[0], poses[min(1, len(poses) - 1)]
    if end_s <= begin_s or stamp_s <= begin_s:
        return begin
    share = (stamp_s - begin_s) / (end_s - begin_s)
    return Pose2D(
        begin.x_m + share * (end.x_m - begin.x_m),
        begin.y_m + share * (end.y_m - begin.y_m),
        begin.yaw_rad + share * wrap_angle(end.yaw_rad - begin.yaw_rad),
    )


class DynamicWindow(LocalPlanner):
    """A planner that selects the trajectory with the least cost on a local costmap.

    The trajectories have the velocities that the robot can reach within one control period. A
    trajectory is invalid if the robot's outline touches an obstacle, or the base comes within the
    inscribed radius of one. The cost is a sum of five terms. Four are distances at the end of the
    trajectory: from the path and, along free cells, to the end of its next section. Both are used
    for the base and for a point in front of it. The fifth is the largest cost of the costmap below
    the outline. The parameters are in meters, radians and seconds.
    """

    def __init__(
        self,
        sim_time: Positive = DefaultDuration(1.7),
        sim_granularity: Positive = DefaultLength(0.025),
        angular_sim_granularity: Positive = 0.1,
        path_distance_bias: NotNegative = 0.6,
        goal_distance_bias: NotNegative = 0.8,
        occdist_scale: NotNegative = 0.003,
        forward_point_distance: NotNegative = DefaultLength(0.325),
        vx_samples: Count = 3,
        vth_samples: Count = 20,
        min_vel_x: float = 0.0,
        min_vel_trans: NotNegative = 0.1,
        min_vel_theta: NotNegative = 0.4,
        oscillation_reset_dist: NotNegative = DefaultLength(0.05),
        oscillation_reset_angle: NotNegative = 0.2,
        scaling_speed: NotNegative = 0.25,
        max_scaling_factor: NotNegative = 0.2,
        width: Positive = DefaultLength(10.0),
        resolution: Positive = DefaultLength(0.05),
        global_width: Positive = DefaultLength(40.0),
        global_resolution: Positive = DefaultLength(0.05),
        footprint_padding: NotNegative = DefaultLength(0.01),
        inflation_radius: NotNegative = DefaultLength(1.2),
        cost_scaling_factor: NotNegative = DefaultDecay(3.0),
        sensors: Sequence[str] = (),
        min_obstacle_height: float = 0.05,
        max_obstacle_height: Positive = 2.0,
    ) -> None:
        if min_obstacle_height >= max_obstacle_height:
            raise ValueError("min_obstacle_height must be less than max_obstacle_height")
        self.sensors = tuple(sensors)
        self.heights = (min_obstacle_height, max_obstacle_height)
        self.reach = (sim_time, forward_point_distance)
        self.granularity = (sim_granularity, angular_sim_granularity)
        self.biases = (path_distance_bias, goal_distance_bias, occdist_scale)
        self.samples = (vx_samples, vth_samples)
        self.min_velocities = (min_vel_x, min_vel_trans, min_vel_theta)
        self.oscillation_reset = (oscillation_reset_dist, oscillation_reset_angle)
        self.scaling = (scaling_speed, max_scaling_factor)
        self.footprint_padding = footprint_padding
        self.costmap = (width, resolution, inflation_radius, cost_scaling_factor)
        self.global_costmap = (
            global_width,
            global_resolution,
            inflation_radius,
            cost_scaling_factor,
        )

    def begin(self, task: Task) -> None:
        self._task = task
        self._sim_time_s, self._forward_point_m = self._scaled_for_robot(self.reach)
        (padding_m,) = self._scaled_for_robot([self.footprint_padding])
        outline_m = np.array(task.limits.footprint_m, dtype=float)
        self._outline_m = outline_m + np.sign(outline_m) * padding_m
        self._footprint = ConvexFootprint(task.limits.footprint_m)
        self._map = self._new_costmap(self.costmap)
        cycles = math.ceil(REPLANNING_S / task.control_period_s)
        self._wide_costmap = self._new_costmap(self.global_costmap)
        self._detour = DetourPlanner(task.waypoints_m, self._wide_costmap, cycles)
        self._limiter = SpeedLimiter(task.limits, task.control_period_s)
        self._flags = self._new_flags()
        self._poses: List[Tuple[float, Pose2D]] = []
        self._all_poses: List[Tuple[float, Pose2D]] = []
        self._stamp_s = -math.inf
        self._read_s = dict.fromkeys(self.sensors, -math.inf)
        self._has_arrived = False
        # a local goal nearer than the end of the trajectories would slow the robot down
        self._lookahead_m = 1.5 * self._sim_time_s * task.limits.max_linear_mps
        self._lookahead_m += self._forward_point_m

    def _scaled_for_robot(self, values: Sequence[float]) -> List[float]:
        limits = self._task.limits
        robot = limits.max_linear_mps, limits.max_linear_accel_mps2
        return [value_for_robot(value, *robot) for value in values]

    def _new_costmap(self, parameters: Sequence[float]) -> LocalCostmap:
        scaled_parameters = self._scaled_for_robot(parameters)
        if self.sensors:
            return VoxelCostmap(self._footprint, *scaled_parameters, heights_m=self.heights)
        return LocalCostmap(self._footprint, *scaled_parameters)

    def _new_flags(self) -> "OscillationFlags":
        return OscillationFlags(*self._scaled_for_robot(self.oscillation_reset))

    def plan(self, observation: Observation) -> Twist2D:
        task, pose = self._task, observation.pose
        to_goal_m = pose.distance_to(task.goal.x_m, task.goal.y_m)
        self._has_arrived = self._has_arrived or to_goal_m <= ARRIVAL * task.goal_tolerance_m
        self._update_map(observation)
        if self._has_arrived or observation.scan is None:
            return self._limiter.apply(Twist2D(0.0, 0.0), observation.twist)
        command = self._best_command(pose, self._limiter.previous(observation.twist))
        if command is None:
            return self._limiter.apply(Twist2D(0.0, 0.0), observation.twist)
        self._flags.update(pose, command, self.min_velocities[1])
        return self._limiter.apply(command, observation.twist)

    def _update_map(self, observation: Observation) -> None:
        self._poses.append((observation.time_s, observation.pose))
        for costmap in (self._map, self._wide_costmap):
            costmap.move_to(observation.pose)
        scan = observation.scan
        if scan is not None and scan.stamp_s > self._stamp_s:
            self._stamp_s = scan.stamp_s
            ends_m, hits = ray_ends(scan)
            # The scan can be older than the observation, and belongs to the pose at its stamp.
            while len(self._poses) > 1 and self._poses[1][0] <= scan.stamp_s:
                del self._poses[0]
            pose = _pose_at(self._poses, scan.stamp_s)
            sensor = np.array([scan.mount.position[:2]])
            for costmap in (self._map, self._wide_costmap):
                costmap.add_scan(pose.apply(sensor)[0], pose.apply(ends_m), hits)
        if self.sensors:
            self._add_readings(observation)
        self._map.inflate()

    def _add_readings(self, observation: Observation) -> None:
        self._all_poses.append((observation.time_s, observation.pose))
        while self._all_poses[0][0] < observation.time_s - POSES_S:
            del self._all_poses[0]
        for name, reading in observation.sensors.items():
            if reading.stamp_s <= self._read_s.get(name, math.inf):
                continue
            self._read_s[name] = reading.stamp_s
            later_poses = [
                index
                for index, timed_pose in enumerate(self._all_poses)
                if timed_pose[0] > reading.stamp_s
            ]
            first = max(0, (later_poses[0] if later_poses else len(self._all_poses)) - 1)
            pose = _pose_at(self._all_poses[first:], reading.stamp_s)
            for costmap in (self._map, self._wide_costmap):
                assert isinstance(costmap, VoxelCostmap), "it has sensors"
                costmap.add_reading(reading, pose)

    def _best_command(self, pose: Pose2D, previous_command: Twist2D) -> Optional[Twist2D]:
        """Return the command of the best trajectory, or of a recovery if all are invalid. Return
        None if the robot must stop."""
        path_m = self._detour.path(pose, self._map, self._lookahead_m)
        if self._detour.replanned:
            self._flags = self._new_flags()
        window = self._window(previous_command)
        twists = window[self._flags.allow(window)]
        costs = trajectory_costs(
            pose,
            twists,
            self._pose_counts(twists),
            self._sim_time_s,
            (self._outline_m, self._scales(twists)),
            self._map,
            self._distance_grids(pose, path_m),
            self._forward_point_m,
            self._weights(math.hypot(path_m[-1, 0] - pose.x_m, path_m[-1, 1] - pose.y_m)),
        )
        if not np.isfinite(costs).any():
            return self._recover(pose, window)
        return Twist2D(*twists[int(np.argmin(costs))].tolist())

    def _weights(self, goal_distance_m: float) -> Weights:
        path, goal, obstacle = self.biases
        path, goal = path * self._map.resolution, goal * self._map.resolution
        alignment = path if goal_distance_m > self._forward_point_m else 0.0
        return Weights(path, goal, alignment, goal, obstacle)

    def _recover(self, pose: Pose2D, window: np.ndarray) -> Optional[Twist2D]:
        """Return the slow motion in the dynamic window ``window`` after which the robot is farthest
        from obstacles. The motion must not decrease the distance from near obstacles. Return None
        if no motion is possible or no obstacle is near."""
        near_m = self._map.centers_m(np.argwhere(self._map.costs == LETHAL))
        away_m = np.hypot(near_m[:, 0] - pose.x_m, near_m[:, 1] - pose.y_m)
        near_m = near_m[away_m < self._footprint.radius_m + 1.0]
        twists = window[window[:, 0] <= RECOVERY_SPEED_MPS]
        if len(near_m) == 0 or len(twists) == 0:
            return None
        enough_m = RECOVERY_GAP_CELLS * self._map.resolution
        pose_counts = np.full(len(twists), RECOVERY_POSES)
        x_m, y_m, _, _ = rollout(pose, twists, pose_counts, RECOVERY_S)
        yaw = pose.yaw_rad + twists[:, 1:] * RECOVERY_S * np.arange(RECOVERY_POSES) / RECOVERY_POSES
        poses = np.column_stack([x_m.ravel(), y_m.ravel(), yaw.ravel()])
        gap_m = self._footprint.clearance_m(poses, near_m).reshape(x_m.shape)
        safe = (gap_m >= np.minimum(gap_m[:, :1], enough_m)).all(axis=1)
        if not safe.any():
            return None
        return Twist2D(*twists[int(np.argmax(np.where(safe, gap_m[:, -1], -np.inf)))].tolist())

    def _window(self, twist: Twist2D) -> np.ndarray:
        """Return the velocities that the robot can reach from ``twist`` within one control period
        (m/s, rad/s), shape (n, 2). Velocities below the least speeds are omitted."""
        limits, period_s = self._task.limits, self._task.control_period_s
        least_x, least_trans, least_theta = self.min_velocities
        linear_step = limits.max_linear_accel_mps2 * period_s
        angular_step = limits.max_angular_accel_radps2 * period_s
        slowest = max(least_x, -limits.max_linear_mps) if limits.can_reverse else max(0.0, least_x)
        linear = velocity_samples(
            max(slowest, twist.linear_mps - linear_step),
            min(limits.max_linear_mps, twist.linear_mps + linear_step),
            self.samples[0],
        )
        angular = velocity_samples(
            max(-limits.max_angular_radps, twist.angular_radps - angular_step),
            min(limits.max_angular_radps, twist.angular_radps + angular_step),
            self.samples[1],
        )
        grid = np.meshgrid(linear, angular, indexing="ij")
        twists = np.column_stack([part.ravel() for part in grid])
        speed, rate = np.abs(twists).T
        # A robot at rest must be able to start within one period.
        moves = speed + ROUNDING_MPS >= min(least_trans, linear_step)
        turns = rate + ROUNDING_MPS >= min(least_theta, angular_step)
        moves |= turns
        if limits.wheelbase_m > 0.0:
            tightest = speed * math.tan(limits.max_steer_rad) / limits.wheelbase_m
            moves &= rate <= tightest + ROUNDING_MPS
        return np.asarray(twists[moves])

    def _pose_counts(self, twists: np.ndarray) -> np.ndarray:
        distance_m, turn_rad = np.abs(twists).T * self._sim_time_s
        step_m, step_rad = self._scaled_for_robot(self.granularity)
        counts = np.ceil(np.maximum(distance_m / step_m, turn_rad / step_rad))
        return np.asarray(np.maximum(counts, 1).astype(np.int64))

    def _scales(self, twists: np.ndarray) -> np.ndarray:
        """Return the factor, shape (n,), by which the outline is enlarged on each trajectory. It
        increases with the speed."""
        slow, largest = self.scaling
        excess_mps = np.maximum(0.0, np.abs(twists[:, 0]) - slow)
        return 1.0 + largest * excess_mps / max(self._task.limits.max_linear_mps - slow, 1e-9)

    def _distance_grids(self, pose: Pose2D, path_m: np.ndarray) -> Distances:
        """Return the distances of all cells from a path (m, world frame), shape (n, 2)."""
        end = path_m[-1]
        bearing = math.atan2(end[1] - pose.y_m, end[0] - pose.x_m)
        point_count = max(1, math.ceil(self._forward_point_m / self._map.resolution))
        ahead_m = self._forward_point_m * np.arange(1, point_count + 1)[:, None] / point_count
        beyond_m = end + ahead_m * np.array([math.cos(bearing), math.sin(bearing)])
        grids = [self._map.distances(self._cells_on_map(path_m))]
        for points_m in (path_m, np.concatenate([path_m, beyond_m])):
            cells = self._cells_on_map(points_m)
            free_cells = cells[self._map.costs[cells[:, 0], cells[:, 1]] < INSCRIBED]
            grids.append(self._map.distances((free_cells if len(free_cells) else cells)[-1:]))
        return Distances(*grids)

    def _cells_on_map(self, points_m: np.ndarray) -> np.ndarray:
        cells = self._map.cells_of(points_m)
        return cells[self._map.contains(cells)]


class OscillationFlags:
    """The forbidden directions of motion, which prevent oscillations.

    If the forward speed changes its sign, the previous sign is forbidden. The same applies to the
    yaw rate while the robot hardly drives. All signs are allowed again after the robot has moved by
    ``distance_m`` or turned by ``angle_rad``.
    """

    def __init__(self, distance_m: float, angle_rad: float) -> None:
        self._reset = (distance_m, angle_rad)
        self._position = Pose2D(0.0, 0.0, 0.0)
        self._last_signs = [0.0, 0.0]
        self._only_signs = [0.0, 0.0]

    def allow(self, twists: np.ndarray) -> np.ndarray:
        """Return whether each velocity, shape (n, 2), is permitted, shape (n,)."""
        return np.asarray((twists * np.array(self._only_signs) >= 0.0).all(axis=1))

    def update(self, pose: Pose2D, command: Twist2D, least_mps: float) -> None:
        """Update the forbidden directions. Yaw rates count only up to the speed ``least_mps``."""
        signs = [float(np.sign(command.linear_mps)), float(np.sign(command.angular_radps))]
        if abs(command.linear_mps) > least_mps:
            signs[1] = 0.0
        for axis, sign in enumerate(signs):
            if sign != 0.0:
                if self._last_signs[axis] == -sign:
                    self._only_signs[axis] = sign
                    self._position = pose
                self._last_signs[axis] = sign
        if any(self._only_signs):
            moved_m = pose.distance_to(self._position.x_m, self._position.y_m)
            turned_rad = abs(wrap_angle(pose.yaw_rad - self._position.yaw_rad))
            if moved_m > self._reset[0] or turned_rad > self._reset[1]:
                self._last_signs, self._only_signs = [0.0, 0.0], [0.0, 0.0]
