"""What the robot's IMU measured during a step.

Owns the meaning of MuJoCo's sensor data. A sample is made when it is asked for: most that look at
a simulation never do.
"""

from typing import List, Sequence, Union, overload

from gz_testauto.observation import ImuSample


class ImuSamples(Sequence[ImuSample]):
    """Samples in order of time."""

    def __init__(self) -> None:
        self._stamps_s: List[float] = []
        self._readings: List[List[float]] = []

    def add(self, stamp_s: float, reading: List[float]) -> None:
        """Take down what the sensors say: quaternion wxyz, angular velocity (rad/s) and linear
        acceleration (m/s²), ten numbers."""
        self._stamps_s.append(stamp_s)
        self._readings.append(reading)

    @overload
    def __getitem__(self, index: int) -> ImuSample: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ImuSample]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[ImuSample, Sequence[ImuSample]]:
        if isinstance(index, slice):
            return tuple(self[number] for number in range(*index.indices(len(self))))
        w, x, y, z, *rates = self._readings[index]
        turn_x, turn_y, turn_z, push_x, push_y, push_z = rates
        return ImuSample(
            self._stamps_s[index], (x, y, z, w), (turn_x, turn_y, turn_z), (push_x, push_y, push_z)
        )

    def __len__(self) -> int:
        return len(self._readings)

    def __repr__(self) -> str:
        return repr(tuple(self))
