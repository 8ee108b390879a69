"""The search for one plan: random draws, growth of the tree, and the resulting trajectory."""

from dataclasses import dataclass, field
from typing import Optional, Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from gz_testauto.extras.roads.sst.model import (
    HEADING_WEIGHT,
    NO_OBJECTS,
    SPEED_WEIGHT,
    Costs,
    Growth,
    Objects,
    Trajectory,
    Vehicle,
)
from gz_testauto.extras.roads.sst.road import BEYOND_M, SPACING_M, RoadSection, road_section
from gz_testauto.extras.roads.sst.tree import (
    SearchScene,
    cheapest_path,
    free_distance_at,
    grow_at_random,
    grow_lane,
    grow_previous,
    new_tree,
    replay,
)
from gz_testauto.planners.interface import Lane

TOUCH_M = 1e-3  # tolerance for a start with less than the required clearance

DISCS = 3  # number of discs that cover the vehicle in the check against static points


@dataclass(frozen=True)
class Search:
    vehicle: Vehicle = field(default_factory=Vehicle)
    costs: Costs = field(default_factory=Costs)
    growth: Growth = field(default_factory=Growth)
    iterations: int = 3000
    lane_branch: bool = True
    previous_branch: bool = True
    cell_m: float = 0.1

    def plan(
        self,
        root: np.ndarray,
        lanes: Sequence[Lane],
        start_m: float,
        random: np.random.Generator,
        objects: Objects = NO_OBJECTS,
        previous: Optional[Trajectory] = None,
        points_m: Optional[np.ndarray] = None,
        distance_m: Optional[float] = None,
        least_m: Optional[float] = None,
    ) -> Optional[Trajectory]:
        """Return the cheapest trajectory to the goal, or None if no trajectory reaches it.

        The trajectory starts in the state ``root`` (4,), at the arc length ``start_m`` of the first
        lane. The goal is ``distance_m`` farther along that lane, by default
        ``growth.goal_distance_m``. With ``least_m``, a trajectory with at least this progress is
        sufficient. ``points_m`` (n, 2) are static points on the road.
        """
        goal_m = start_m + (self.growth.goal_distance_m if distance_m is None else distance_m)
        scene = self._create_scene(lanes, start_m, goal_m, points_m, objects)
        scene = scene._replace(disc_m=min(scene.disc_m, free_distance_at(scene, root) - TOUCH_M))
        edges = int(np.ceil(4 * self.growth.lane_length_m / self.growth.lane_lookahead_m))
        last = None if previous is None else self._remainder_of(previous, root)
        most = 1 + self.iterations + edges + (0 if last is None else len(last.steps))
        tree = new_tree(root, scene, most)
        if self.previous_branch and last is not None:
            grow_previous(tree, scene, last.controls, last.steps)
        # also drawn without the branch, so that all variants use the same random states
        lane_draws = self._controls(random, (edges, self.growth.lane_samples))
        if self.lane_branch:
            grow_lane(tree, scene, lane_draws, goal_m)
        samples = self._samples(random, scene.road, start_m, goal_m)
        grow_at_random(tree, scene, samples, self._controls(random, (self.iterations,)))
        far_enough_m = np.inf if least_m is None else start_m + least_m
        controls, steps, cost = cheapest_path(tree, scene, goal_m, far_enough_m)
        if cost < 0.0:
            return None
        step_s, start = self.growth.step_s, np.asarray(root, dtype=float)
        states = replay(start, controls, steps, step_s, self.vehicle.wheelbase_m)
        return Trajectory(controls, steps, states, step_s, float(cost))

    def price(
        self,
        trajectory: Trajectory,
        lanes: Sequence[Lane],
        start_m: float,
        objects: Objects = NO_OBJECTS,
        points_m: Optional[np.ndarray] = None,
    ) -> Optional[float]:
        """Return the cost of a trajectory among ``objects``, or None if it is now invalid."""
        goal_m = start_m + self.growth.goal_distance_m
        scene = self._create_scene(lanes, start_m, goal_m, points_m, objects)
        tree = new_tree(trajectory.states[0], scene, 1 + len(trajectory.steps))
        grow_previous(tree, scene, trajectory.controls, trajectory.steps)
        count = int(tree.counts[0])
        return float(tree.costs[count - 1]) if count == 1 + len(trajectory.steps) else None

    def _create_scene(
        self,
        lanes: Sequence[Lane],
        start_m: float,
        goal_m: float,
        points_m: Optional[np.ndarray],
        objects: Objects,
    ) -> SearchScene:
        vehicle, behind_m = self.vehicle, self.growth.behind_m
        road = road_section(lanes, start_m, goal_m, self.cell_m, behind_m, points_m)
        spacing_m = vehicle.length_m / DISCS
        ahead = vehicle.center_m + spacing_m * (np.arange(DISCS) - 0.5 * (DISCS - 1))
        radius = 0.5 * float(np.hypot(spacing_m, vehicle.width_m))
        poses = np.ascontiguousarray(objects.poses, dtype=float)
        sizes = np.ascontiguousarray(objects.sizes_m, dtype=float)
        return SearchScene(vehicle, self.costs, self.growth, road, sizes, poses, ahead, radius)

    def _remainder_of(self, previous: Trajectory, root: np.ndarray) -> Optional[Trajectory]:
        """Return the part of ``previous`` after its state nearest to the root, or None if this
        state is farther than ``growth.previous_within`` or is the last."""
        apart = previous.states - root
        turn = np.abs(np.remainder(apart[:, 2] + np.pi, 2 * np.pi) - np.pi)
        away = np.hypot(apart[:, 0], apart[:, 1])
        away = away + HEADING_WEIGHT * turn + SPEED_WEIGHT * np.abs(apart[:, 3])
        nearest = int(np.argmin(away))
        if away[nearest] > self.growth.previous_within:
            return None
        remainder = previous.later(nearest)
        return remainder if len(remainder.steps) else None

    def _controls(self, random: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
        """Draw controls (..., 2) from normal distributions within the vehicle's limits."""
        vehicle, growth = self.vehicle, self.growth
        sigma = np.array([growth.accel_sigma_mps2, growth.steer_sigma_rad])
        low = ndtr(np.array([-vehicle.max_braking_mps2, -vehicle.max_steer_rad]) / sigma)
        high = ndtr(np.array([vehicle.max_accel_mps2, vehicle.max_steer_rad]) / sigma)
        return np.asarray(sigma * ndtri(low + (high - low) * random.random((*shape, 2))))

    def _samples(
        self, random: np.random.Generator, road: RoadSection, start_m: float, goal_m: float
    ) -> np.ndarray:
        """Draw states (n, 4) on the section of road, a share of them at the goal."""
        count, threshold = self.iterations, self.growth.goal_threshold_m
        uniform = random.random((count, 5))
        at_goal = uniform[:, 0] < self.growth.goal_share
        low = np.where(at_goal, goal_m - threshold, start_m - self.growth.behind_m)
        high = np.where(at_goal, goal_m + threshold, goal_m + BEYOND_M)
        arcs = low + (high - low) * uniform[:, 1]
        offsets = road.aside_m[0] + (road.aside_m[1] - road.aside_m[0]) * uniform[:, 2]
        offsets[at_goal] = 0.0
        indices = (arcs - road.line_arc_m) / SPACING_M
        first = np.clip(indices.astype(int), 0, len(road.line_m) - 2)
        share = (indices - first)[:, None]
        points = (1 - share) * road.line_m[first] + share * road.line_m[first + 1]
        headings = road.headings_rad[first]
        sampled_headings = np.where(at_goal, headings, headings + np.pi * (2 * uniform[:, 3] - 1))
        return np.column_stack(
            [
                points[:, 0] - offsets * np.sin(headings),
                points[:, 1] + offsets * np.cos(headings),
                sampled_headings,
                self.vehicle.max_speed_mps * uniform[:, 4],
            ]
        )
