"""Social metrics of the robot among people and groups of people.

Values are computed from ground truth, and each applies until the next sample. Velocities are
differences of poses. People without an outline in the recording are ignored.

Sources: social force: Moussaïd, Helbing, Garnier, Johansson, Combe, Theraulaz 2009, with the
parameters of lightsfm, which HuNavSim uses; social work: Pérez-Higueras, Otero, Caballero, Merino
2023 (HuNavSim); distance to and speed of the nearest person: the same; collisions with people:
Francis et al. 2023; space of a group: the convex hull of its members, as in Katyal et al. 2022.
"""

import functools
import math
from typing import FrozenSet, Sequence, Tuple

import numpy as np
import shapely

from gz_testauto.base.elementary import arctan2, exp
from gz_testauto.metrics.encounters import (
    encounters,
    moving_objects,
    placed,
    robot_velocity_mps,
    velocity_mps,
)
from gz_testauto.metrics.interface import Metric, MetricContext
from gz_testauto.metrics.recording import (
    ACTOR_SERIES,
    FOOTPRINT_SERIES,
    OUTLINE_SERIES,
    Recording,
)
from gz_testauto.metrics.traffic import extra_metric

STRENGTH_MPS2 = 2.1  # factor of the social force (``forceFactorSocial`` of lightsfm)

VELOCITY_WEIGHT_S_PER_M, RANGE_M = 2.0, 0.35
"""Weight (s/m) of the relative velocity (λ), and range (m) of the force per unit of the
interaction vector (γ)."""

SLOWING, TURNING = 3.0, 2.0  # angular ranges along the interaction vector (n') and across it (n)

DISPERSED_M = 2.0
"""Distance (m) of a member from the center of its group above which the group is dispersed, and has
no space."""


def social_force(offset: np.ndarray, relative: np.ndarray) -> np.ndarray:
    """Return the social force (m/s²) of another agent, shape (n, 2), 0 at the same position.

    ``offset`` (n, 2) is the vector (m) from the agent to the other agent. ``relative`` (n, 2) is
    the velocity (m/s) of the agent minus that of the other agent.
    """
    distance = np.hypot(*offset.T)
    is_defined = distance > 0.0
    toward = offset / np.where(is_defined, distance, 1.0)[:, None]
    interaction = VELOCITY_WEIGHT_S_PER_M * relative + toward
    length = np.hypot(*interaction.T)
    is_defined &= length > 0.0
    length = np.where(is_defined, length, 1.0)
    along = interaction / length[:, None]
    angle = arctan2(toward[:, 1], toward[:, 0]) - arctan2(along[:, 1], along[:, 0])
    angle = (angle + math.pi) % (2.0 * math.pi) - math.pi
    reach_m = RANGE_M * length
    slows = -exp(-distance / reach_m - (SLOWING * reach_m * angle) ** 2)
    turns = -np.sign(angle) * exp(-distance / reach_m - (TURNING * reach_m * angle) ** 2)
    across = np.column_stack([-along[:, 1], along[:, 0]])
    force = STRENGTH_MPS2 * (slows[:, None] * along + turns[:, None] * across)
    return np.where(is_defined[:, None], force, 0.0)


@functools.lru_cache(maxsize=2)  # two metrics use the same forces
def _forces(recording: Recording, people: Tuple[str, ...]) -> Tuple[np.ndarray, np.ndarray]:
    """Return the social forces (m/s²) on the robot and on people at each sample, (n,) each.

    The first is the modulus of the total force of all people on the robot. The second is the sum of
    the moduli of the robot's forces on the people.
    """
    robot, time_s = recording.pose, recording.time_s
    on_robot, on_people = np.zeros((len(robot), 2)), np.zeros(len(robot))
    robot_velocity = robot_velocity_mps(recording)
    for name in people:
        person = recording.series[ACTOR_SERIES + name]
        present = np.isfinite(person).all(axis=1)
        offset = (person - robot)[present, :2]
        relative = (robot_velocity - velocity_mps(person, time_s))[present]
        on_robot[present] += social_force(offset, relative)
        on_people[present] += np.hypot(*social_force(-offset, -relative).T)
    return np.hypot(*on_robot.T), on_people


def _present_people(names: FrozenSet[str], recording: Recording) -> Tuple[str, ...]:
    return tuple(name for name in moving_objects(recording.series) if name in names)


def _time_integral(recording: Recording, values: np.ndarray) -> float:
    return float((np.diff(recording.time_s) * values[:-1]).sum())


def _time_mean(recording: Recording, values: np.ndarray) -> float:
    return _time_integral(recording, values) / recording.duration_s


def social_work(people: FrozenSet[str], recording: Recording, context: MetricContext) -> float:
    """Return the time integral (m/s) of the social forces between robot and people, in both
    directions; NaN without people.
    """
    names = _present_people(people, recording)
    if not names or len(recording.time_s) < 2:
        return math.nan
    return _time_integral(
        recording, sum(_forces(recording, names), np.zeros(len(recording.time_s)))
    )


def force_on_people(people: FrozenSet[str], recording: Recording, context: MetricContext) -> float:
    """Return the time integral (m/s) of the robot's social forces on people; NaN without people."""
    names = _present_people(people, recording)
    if not names or len(recording.time_s) < 2:
        return math.nan
    return _time_integral(recording, _forces(recording, names)[1])


def _nearest(people: FrozenSet[str], recording: Recording) -> Tuple[np.ndarray, np.ndarray]:
    """Return the distance (m) from the robot to the nearest person, and the speed (m/s) of this
    person, each of shape (n,).

    The distance is infinite while no person is present.
    """
    distance_m = np.full(len(recording.time_s), np.inf)
    speed_mps = np.zeros(len(recording.time_s))
    for encounter in encounters(recording):
        if encounter.name in people:
            rows = np.searchsorted(recording.time_s, encounter.time_s)
            poses = recording.series[ACTOR_SERIES + encounter.name]
            speeds = np.hypot(*velocity_mps(poses, recording.time_s)[rows].T)
            nearer = encounter.distance_m < distance_m[rows]
            distance_m[rows[nearer]] = encounter.distance_m[nearer]
            speed_mps[rows[nearer]] = speeds[nearer]
    return distance_m, speed_mps


def _mean_while_present(
    choice: int, people: FrozenSet[str], recording: Recording, context: MetricContext
) -> float:
    """Return the mean of the nearest person's distance or speed over the time in which a person is
    present; NaN without people. ``choice`` is the index in the result of :func:`_nearest`.
    """
    distance_m, speed_mps = _nearest(people, recording)
    present = np.isfinite(distance_m)
    if len(recording.time_s) < 2 or not present[:-1].any():
        return math.nan
    values = np.where(present, (distance_m, speed_mps)[choice], 0.0)
    return _time_integral(recording, values) / _time_integral(recording, present.astype(float))


def _count_collisions(
    people: FrozenSet[str], recording: Recording, context: MetricContext
) -> float:
    return float(sum(contact.partner in people for contact in recording.contacts))


# ---- groups


def _distance_to_group_m(members: Sequence[str], recording: Recording) -> np.ndarray:
    """Return the distance from the robot's outline to the space of a group, shape (n,).

    It is infinite while a member is absent or the group is dispersed.
    """
    series = recording.series
    distances_m = np.full(len(recording.time_s), np.inf)
    robot = series.get(FOOTPRINT_SERIES)
    if robot is None or any(OUTLINE_SERIES + name not in series for name in members):
        return distances_m
    poses = np.stack([series[ACTOR_SERIES + name] for name in members])  # (k, n, 3)
    with np.errstate(invalid="ignore"):  # NaN while a member is absent
        offsets = poses[:, :, :2] - poses[:, :, :2].mean(axis=0)
        reach_m = np.hypot(offsets[..., 0], offsets[..., 1]).max(axis=0)
        together = reach_m <= max(DISPERSED_M, (len(members) - 1) / 2)
    if not together.any():
        return distances_m
    outlines = [placed(series[OUTLINE_SERIES + n], p[together]) for n, p in zip(members, poses)]
    spaces = shapely.convex_hull(shapely.multipoints(np.concatenate(outlines, axis=1)))
    robots = shapely.polygons(placed(robot, recording.pose[together]))
    distances_m[together] = shapely.distance(spaces, robots)
    return distances_m


@functools.lru_cache(maxsize=2)  # two metrics use the same distances
def _nearest_group_distance_m(
    recording: Recording, groups: Tuple[Tuple[str, ...], ...]
) -> np.ndarray:
    return np.min([_distance_to_group_m(members, recording) for members in groups], axis=0)


def _group_intrusion(
    groups: Tuple[Tuple[str, ...], ...], recording: Recording, context: MetricContext
) -> float:
    """Return the share of the time in which the robot is in the space of any group."""
    if recording.duration_s <= 0.0:
        return math.nan
    return _time_mean(
        recording, (_nearest_group_distance_m(recording, groups) <= 0.0).astype(float)
    )


def _group_gap(
    groups: Tuple[Tuple[str, ...], ...], recording: Recording, context: MetricContext
) -> float:
    """Return the smallest distance to the space of a group; infinite if all are dispersed."""
    if not len(recording.time_s):
        return math.nan
    return float(_nearest_group_distance_m(recording, groups).min())


def social_metrics(people: Sequence[str], groups: Sequence[Sequence[str]]) -> Tuple[Metric, ...]:
    names = frozenset(people)
    rows = [
        (
            "social_work_mps",
            "lower",
            "integral of the social forces of people on the robot and of the robot on people",
            functools.partial(social_work, names),
            "m/s",
        ),
        (
            "social_force_on_people_mps",
            "lower",
            "integral of the social forces of the robot on people",
            functools.partial(force_on_people, names),
            "m/s",
        ),
        (
            "person_distance_mean_m",
            "higher",
            "mean distance to the nearest person",
            functools.partial(_mean_while_present, 0, names),
            "m",
        ),
        (
            "nearest_person_speed_mps",
            "higher",
            "mean speed of the nearest person",
            functools.partial(_mean_while_present, 1, names),
            "m/s",
        ),
        (
            "person_collisions",
            "lower",
            "collisions with people",
            functools.partial(_count_collisions, names),
            "",
        ),
    ]
    larger_groups = tuple(tuple(group) for group in groups if len(group) > 1)
    if larger_groups:
        rows += [
            (
                "group_intrusion_share",
                "lower",
                "share of the time in the space of a group of people",
                functools.partial(_group_intrusion, larger_groups),
                "",
            ),
            (
                "group_distance_min_m",
                "higher",
                "smallest distance to the space of a group of people",
                functools.partial(_group_gap, larger_groups),
                "m",
            ),
        ]
    return tuple(extra_metric(*row) for row in rows)
