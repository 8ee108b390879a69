"""The motors and the sensors of a robot in Bullet. Motors turn the wheels, and friction moves the
robot, even with a skid-steer drive."""

from typing import Any, Dict, List, Tuple, Union

import numpy as np

from gz_testauto.base.observation import Contact
from gz_testauto.extras.pybullet.client import LIDAR_BIT
from gz_testauto.extras.pybullet.multibody import motion
from gz_testauto.extras.pybullet.world import BulletWorld
from gz_testauto.sdf.engine_model.robots import EngineRobot, Mount
from gz_testauto.simulators.changes import Vector
from gz_testauto.simulators.engine_robot import ImuMotion, SimulatedRobot

RAYS_PER_CALL = 16_000  # PyBullet accepts at most 16,384 rays

SURFACE_M = 1e-6  # distance in front of a surface at which a ray away from it starts

STANDARD_GRAVITY_MPS2 = 9.8

TWO_WHEEL_SHARE = 0.5
"""Largest driving force of each of two wheels, relative to the friction of its load. The robot
accelerates with half of what friction allows, and does not tip."""

MORE_WHEELS_SHARE = 2.0
"""Largest driving force of each of more than two wheels, relative to the friction of its load. They
must slide when the robot turns, and some of them bear more load than others."""


class BulletRobot(SimulatedRobot):
    def __init__(
        self, engine_robot: EngineRobot, world: BulletWorld, noise: np.random.Generator
    ) -> None:
        super().__init__(engine_robot, world.step_s, noise)
        self._world = world
        self._client: Any = world.client
        built = world.models[self.name]
        self._links, self._joints = built.links, built.joints
        self._bodies = tuple(built.bodies)
        self._keys = frozenset(
            key for name in engine_robot.body_shapes for key in built.shapes.get(name, ())
        )
        lidar = engine_robot.robot.single_lidar
        if lidar is not None:
            self._directions = lidar.directions
        self._torques_nm = _torque_limits_nm(engine_robot)
        self._set_motors()

    def _set_motors(self) -> None:
        command, client = self._command, self._client
        for wheel, torque_nm in zip(self.engine_robot.wheels, self._torques_nm):
            (joint,) = self._joints[wheel.joint]
            speed_radps = (
                wheel.per_speed * command.linear_mps + wheel.per_turn * command.angular_radps
            )
            client.setJointMotorControl2(
                joint.body,
                joint.index,
                client.VELOCITY_CONTROL,
                targetVelocity=speed_radps,
                force=torque_nm,
            )

    def _present_contacts(self, stamp_s: float) -> List[Contact]:
        robot_keys, names = self._keys, self._world.names
        points_of_pairs: Dict[Tuple[str, str], List[Tuple[Vector, Vector, float, Vector]]] = {}
        for body in self._bodies if robot_keys else ():
            for hit in self._client.getContactPoints(bodyA=body):
                # fields of a hit: 8 distance, 9 normal force, 10 and 12 friction forces
                if hit[8] > 0.0:
                    continue
                first, second = (hit[1], hit[3]), (hit[2], hit[4])
                normal, at, sign = hit[7], hit[5], 1.0
                if first not in robot_keys:
                    if second not in robot_keys:
                        continue
                    first, second, at, sign = second, first, hit[6], -1.0
                pair = (names[first], names[second])
                force = tuple(
                    sign * (hit[9] * n + hit[10] * u + hit[12] * v)
                    for n, u, v in zip(normal, hit[11], hit[13])
                )
                signed_normal = tuple(sign * value for value in normal)
                points_of_pairs.setdefault(pair, []).append((at, signed_normal, -hit[8], force))  # type: ignore[arg-type]
        return [
            Contact(
                stamp_s=stamp_s,
                first=first,
                second=second,
                positions_m=tuple(point[0] for point in points),
                normals=tuple(point[1] for point in points),
                depths_m=tuple(point[2] for point in points),
                forces_n=tuple(point[3] for point in points),
            )
            for (first, second), points in points_of_pairs.items()
        ]

    def _imu_motion(self) -> ImuMotion:
        mount = self.engine_robot.imu
        assert mount is not None, "it has an IMU"
        place = self._links[mount.link]
        center_motion = motion(self._client, place)
        state = center_motion.state(center_motion.center * (place.center.inverse() * mount.pose))
        angular_radps = state.pose.rotation.T @ np.asarray(center_motion.angular_radps)
        return ImuMotion(
            state.pose.quaternion,
            tuple(angular_radps.tolist()),
            state.linear_mps or (),
            self._world.gravity_mps2,
        )

    def _ranges_m(self) -> np.ndarray:
        mount, lidar = self.engine_robot.lidar, self.engine_robot.robot.lidar
        assert mount is not None and lidar is not None, "it has a lidar"
        return self._cast_rays(mount, self._directions, lidar.range_m)

    def _cast_rays(
        self, mount: Mount, directions: np.ndarray, range_m: Tuple[float, float]
    ) -> np.ndarray:
        """Return the ranges (m) of rays with directions (n, 3) in the frame of the mount, (n,)."""
        place = self._links[mount.link]
        pose = motion(self._client, place).of_link(place).pose * mount.pose
        origin, directions = np.asarray(pose.position), directions @ pose.rotation.T
        least_m, most_m = range_m
        ranges_m = self._cast(origin, directions, most_m)
        near = np.flatnonzero(ranges_m < least_m)
        if near.size:
            ranges_m[near] = self._cast_from(least_m, origin, directions[near], most_m)
        return ranges_m

    def _cast_from(
        self, least_m: float, origin: np.ndarray, directions: np.ndarray, most_m: float
    ) -> np.ndarray:
        """Return the distance (n,) from ``origin`` (3,) to the first surface on each ray (n, 3), or
        inf. As in Gazebo, a ray starts at ``least_m`` and detects the far side of a shape that
        contains its start."""
        # Bullet omits this shape, so a second ray is cast backward.
        reach_m = most_m - least_m
        ahead_m = self._cast(origin + least_m * directions, directions, reach_m)
        free_m = np.minimum(ahead_m, reach_m) - SURFACE_M
        ends = origin + (least_m + free_m)[:, None] * directions
        back_m = self._cast(ends, -directions, free_m[:, None])
        starts_inside = np.isfinite(back_m)  # the ray leaves the shape that contains its start
        return least_m + np.where(starts_inside & (free_m > 0.0), free_m - back_m, ahead_m)

    def _cast(
        self, starts: np.ndarray, directions: np.ndarray, reach_m: Union[float, np.ndarray]
    ) -> np.ndarray:
        """Return the distance (n,) along ``directions`` (n, 3) to the first surface, or inf beyond
        ``reach_m``, a number or (n, 1). ``starts`` is (3,) or (n, 3)."""
        ends = (starts + directions * reach_m).tolist()
        begins, hits = np.broadcast_to(starts, directions.shape).tolist(), []
        for first in range(0, len(ends), RAYS_PER_CALL):
            batch = slice(first, first + RAYS_PER_CALL)
            hits += self._client.rayTestBatch(
                begins[batch], ends[batch], numThreads=1, collisionFilterMask=LIDAR_BIT
            )
        is_hit = np.array([hit[0] for hit in hits]) >= 0
        shares = np.array([hit[2] for hit in hits])
        return np.where(is_hit, shares * np.ravel(reach_m), np.inf)


def _torque_limits_nm(engine_robot: EngineRobot) -> List[float]:
    """Return the torque limit of each driven wheel: that of its plugin, or a smaller torque that
    its tire can transmit under an equal share of the load."""
    # Gazebo's plugin sets the speed of the wheels directly. In Bullet, the torque of a motor also
    # acts on the body, and without a limit lifts the front of a robot that starts from rest.
    wheels = engine_robot.wheels
    bodies = engine_robot.model.bodies
    mass_kg = sum(body.inertial.mass_kg for body in bodies if body.inertial is not None)
    tires = {body.name: [shape.surface for shape in body.shapes] for body in bodies}
    limits = []
    for wheel in wheels:
        mu = min((min(tire.mu, tire.mu2, 1.0) for tire in tires[wheel.link]), default=1.0)
        load_n = mass_kg * STANDARD_GRAVITY_MPS2 / len(wheels)
        share = TWO_WHEEL_SHARE if len(wheels) == 2 else MORE_WHEELS_SHARE
        most = share * (mu or 1.0) * load_n / abs(wheel.per_speed)
        limits.append(most if wheel.torque_nm is None else min(most, wheel.torque_nm))
    return limits
