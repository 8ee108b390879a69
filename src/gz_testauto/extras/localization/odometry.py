"""Wheel odometry with systematic and random errors, computed from the true motion of a robot.

The random errors follow the odometry motion model of Thrun, Burgard and Fox, *Probabilistic
Robotics* (2005), section 5.4. A motion is a rotation, a translation and another rotation, with
independent normal errors. Their variances for one interval are::

    rotation:     alpha1 rotation^2 + alpha2 translation^2
    translation:  alpha3 translation^2 + alpha4 (first rotation^2 + second rotation^2)

The book applies the model once per update of a filter such as amcl, after :data:`INTERVAL_M` or
:data:`INTERVAL_RAD`. Here, the squares of a motion are replaced by its product with these lengths,
so that the variances do not depend on the control period.

The systematic errors of wheel radii and track width are those of Borenstein and Feng (1996).
"""

import math
from dataclasses import dataclass
from typing import Callable, NamedTuple, Optional, Tuple

import numpy as np

from gz_testauto.actors.localization import PoseEstimator
from gz_testauto.base.arithmetic import turned_tensor
from gz_testauto.base.observation import Twist2D
from gz_testauto.base.pose import Pose2D, wrap_angle

INTERVAL_M, INTERVAL_RAD = 0.2, math.pi / 6
"""Motion between two updates of amcl (``update_min_d`` and ``update_min_a``)."""


@dataclass(frozen=True)
class GyroErrors:
    """The bias and the noise density (rad/s per square root of Hz) of a gyroscope."""

    bias_radps: float
    noise_radps: float


@dataclass(frozen=True)
class OdometryErrors:
    """The errors of the odometry in one trial.

    ``alpha`` are the coefficients of the motion model. The errors of radii and track width are
    relative. With ``gyro``, the errors of the wheels affect only the translation.
    """

    alpha: Tuple[float, float, float, float]
    wheel_separation_m: float
    left_radius: float = 0.0
    right_radius: float = 0.0
    track_width: float = 0.0
    gyro: Optional[GyroErrors] = None


class SlipErrors:
    """Patches of ground on which one wheel slips, with exponentially distributed distances.

    ``draw`` maps two numbers in [0, 1) to the length (m) of a patch and the lost share of turning.
    """

    def __init__(
        self,
        every_m: float,
        draw: Callable[[float, float], Tuple[float, float]],
        random: np.random.Generator,
    ) -> None:
        self._every_m, self._draw, self._random = every_m, draw, random
        self._remaining_m, self._extra_rotation = 0.0, (0.0, 0.0)
        self._is_patch = True
        self._draw_next_section()

    def factors(self, distance_m: float) -> Tuple[float, float]:
        """Advance by ``distance_m``; return the rotation of the left and of the right wheel,
        divided by that without slip."""
        remaining_m, turned = distance_m, [0.0, 0.0]
        while remaining_m > self._remaining_m:
            turned = [
                sum_ + self._remaining_m * extra
                for sum_, extra in zip(turned, self._extra_rotation)
            ]
            remaining_m -= self._remaining_m
            self._draw_next_section()
        self._remaining_m -= remaining_m
        left, right = (
            sum_ + remaining_m * extra for sum_, extra in zip(turned, self._extra_rotation)
        )
        if distance_m <= 0.0:
            return (1.0, 1.0)
        return (1.0 + left / distance_m, 1.0 + right / distance_m)

    def _draw_next_section(self) -> None:
        self._is_patch = not self._is_patch
        if not self._is_patch:
            self._remaining_m, self._extra_rotation = (
                float(self._random.exponential(self._every_m)),
                (0.0, 0.0),
            )
            return
        length, share, wheel = self._random.random(3).tolist()
        self._remaining_m, lost = self._draw(length, share)
        extra = lost / (1.0 - lost)
        self._extra_rotation = (extra, 0.0) if wheel < 0.5 else (0.0, extra)


class OdometryInputs(NamedTuple):
    errors: OdometryErrors
    random: np.random.Generator
    slip: Optional[SlipErrors]


class OdometryModel(PoseEstimator):
    """The odometry of one robot in one trial, and the covariance of its random errors."""

    odometry = Pose2D(0.0, 0.0)
    twist = Twist2D()
    covariance: np.ndarray = np.zeros((3, 3))
    twist_covariance: np.ndarray = np.zeros((3, 3))

    def __init__(self, inputs: OdometryInputs) -> None:
        self._errors, self._random, self._slip = inputs
        self._previous: Optional[Tuple[float, Pose2D]] = None

    @property
    def pose(self) -> Pose2D:
        return self.odometry

    def advance(self, time_s: float, pose: Pose2D, twist: Twist2D) -> None:
        previous, self._previous = self._previous, (time_s, pose)
        if previous is None:
            self.odometry, self.twist = pose, twist
            return
        elapsed_s = time_s - previous[0]
        forward_m, turn_rad = _motion(previous[1], pose)
        errors, gyro = self._errors, self._errors.gyro
        half_m = 0.5 * errors.wheel_separation_m
        path_m = max(abs(forward_m - half_m * turn_rad), abs(forward_m + half_m * turn_rad))
        slip = (1.0, 1.0) if self._slip is None else self._slip.factors(path_m)
        forward_m, turn_rad = self._read_encoders(forward_m, turn_rad, slip)
        speed_mps, turn_radps = self._read_encoders(*twist, slip)
        # Only three numbers are used. If fewer were drawn, the results of a seed would change.
        noise = self._random.standard_normal(4).tolist()
        if gyro is not None:
            turn_rad = wrap_angle(pose.yaw_rad - previous[1].yaw_rad) + gyro.bias_radps * elapsed_s
            turn_radps = twist.angular_radps + gyro.bias_radps
        rotation_rad2, translation_m2 = self._variances(forward_m, turn_rad, elapsed_s)
        # Half of the rotation, the translation and the other half, each with its error.
        first_rad = 0.5 * turn_rad + math.sqrt(rotation_rad2) * noise[0]
        second_rad = 0.5 * turn_rad + math.sqrt(rotation_rad2) * noise[2]
        forward_m += math.sqrt(translation_m2) * noise[1]
        self._propagate_covariance(forward_m, first_rad, rotation_rad2, translation_m2)
        x_m, y_m, yaw_rad = self.odometry
        self.odometry = Pose2D(
            x_m + forward_m * math.cos(yaw_rad + first_rad),
            y_m + forward_m * math.sin(yaw_rad + first_rad),
            wrap_angle(yaw_rad + first_rad + second_rad),
        )
        self.twist = Twist2D(speed_mps, turn_radps)
        if elapsed_s > 0.0:
            self.twist_covariance = (
                np.diag([translation_m2, 0.0, 2.0 * rotation_rad2]) / elapsed_s**2
            )

    def place(self, pose: Pose2D) -> None:
        if self._previous is not None:
            self._previous = (self._previous[0], pose)

    def _read_encoders(
        self, forward: float, turn: float, slip: Tuple[float, float]
    ) -> Tuple[float, float]:
        """Return the values of wheel encoders for a true motion (m, rad) or twist (m/s, rad/s).

        ``slip`` is the result of :meth:`SlipErrors.factors`.
        """
        errors = self._errors
        half_m = 0.5 * errors.wheel_separation_m
        left = (forward - half_m * turn) * (1.0 + errors.left_radius) * slip[0]
        right = (forward + half_m * turn) * (1.0 + errors.right_radius) * slip[1]
        track_m = errors.wheel_separation_m * (1.0 + errors.track_width)
        return 0.5 * (left + right), (right - left) / track_m

    def _variances(
        self, forward_m: float, turn_rad: float, elapsed_s: float
    ) -> Tuple[float, float]:
        """Return the variance of each of the two rotations (rad²), and of the translation (m²)."""
        alpha1, alpha2, alpha3, alpha4 = self._errors.alpha
        scaled_m2, scaled_rad2 = INTERVAL_M * abs(forward_m), INTERVAL_RAD * abs(turn_rad)
        translation = alpha3 * scaled_m2 + alpha4 * scaled_rad2
        if self._errors.gyro is not None:
            return 0.5 * self._errors.gyro.noise_radps**2 * elapsed_s, translation
        return 0.5 * alpha1 * scaled_rad2 + alpha2 * scaled_m2, translation

    def _propagate_covariance(
        self, forward_m: float, first_rad: float, rotation_rad2: float, translation_m2: float
    ) -> None:
        direction = self.odometry.yaw_rad + first_rad
        # Jacobians with respect to the pose and to the motion (rotation, translation, rotation)
        cos, sin = math.cos(direction), math.sin(direction)
        of_pose = np.array([[1.0, 0.0, -forward_m * sin], [0.0, 1.0, forward_m * cos], [0, 0, 1]])
        of_motion = np.array([[-forward_m * sin, cos, 0.0], [forward_m * cos, sin, 0.0], [1, 0, 1]])
        motion = np.diag([rotation_rad2, translation_m2, rotation_rad2])
        self.covariance = turned_tensor(of_pose, self.covariance) + turned_tensor(of_motion, motion)


def _motion(before: Pose2D, after: Pose2D) -> Tuple[float, float]:
    """Return the forward translation (m) and the rotation (rad), without lateral displacement."""
    turn_rad = wrap_angle(after.yaw_rad - before.yaw_rad)
    middle_rad = before.yaw_rad + 0.5 * turn_rad
    x_m, y_m = after.x_m - before.x_m, after.y_m - before.y_m
    return math.cos(middle_rad) * x_m + math.sin(middle_rad) * y_m, turn_rad
