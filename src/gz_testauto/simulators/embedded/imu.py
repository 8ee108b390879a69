"""Samples of a robot's IMU in a step, from MuJoCo's sensor data.

The acceleration is the change of velocity over the physics step, as of a digital IMU. MuJoCo's
accelerometer gives the solved acceleration, and its integrator, which is implicit in the motors'
damping, moves the robot by less. A sample is computed when it is read, which most callers never do.
"""

from typing import List, NamedTuple, Sequence, Union, overload

import numpy as np

from gz_testauto.base.observation import ImuSample
from gz_testauto.base.pose import Pose


class _Reading(NamedTuple):
    """Of one physics step: the sensor data at its end, the velocity (m/s, world frame) at its
    start, its length (s), and gravity (m/s², world frame)."""

    stamp_s: float
    numbers: List[float]
    velocity_before: List[float]
    step_s: float
    gravity: List[float]


class MujocoImuSamples(Sequence[ImuSample]):
    """IMU samples in order of time."""

    def __init__(self) -> None:
        self._readings: List[_Reading] = []

    def add(
        self,
        stamp_s: float,
        numbers: List[float],
        velocity_before: List[float],
        step_s: float,
        gravity: List[float],
    ) -> None:
        """Add sensor data: quaternion wxyz, angular velocity (rad/s) in the sensor frame and
        velocity (m/s) in the world frame, ten numbers."""
        self._readings.append(_Reading(stamp_s, numbers, velocity_before, step_s, gravity))

    @overload
    def __getitem__(self, index: int) -> ImuSample: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ImuSample]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[ImuSample, Sequence[ImuSample]]:
        if isinstance(index, slice):
            return tuple(self[number] for number in range(*index.indices(len(self))))
        reading = self._readings[index]
        w, x, y, z, turn_x, turn_y, turn_z, *velocity = reading.numbers
        orientation = Pose(quaternion=(x, y, z, w))
        change = np.subtract(velocity, reading.velocity_before) / reading.step_s
        felt = orientation.rotation.T @ (change - reading.gravity)
        return ImuSample(
            reading.stamp_s, (x, y, z, w), (turn_x, turn_y, turn_z), tuple(felt.tolist())
        )

    def __len__(self) -> int:
        return len(self._readings)

    def __repr__(self) -> str:
        return repr(tuple(self))
