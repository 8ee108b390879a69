"""Measurements of the sensors that a scene selects: rate, noise, delay and merged contacts.

A sensor measures at the end of the first step that ends at or after each of its periods. Its noise
depends on the seed of the scene, the number of the robot, and the name of the sensor.
"""

import zlib
from collections import deque
from dataclasses import replace
from typing import Callable, Deque, Dict, List, Optional, Sequence, Tuple

import numpy as np

from gz_testauto.base.observation import Contact, LaserScan, SensorReading, SensorReadings
from gz_testauto.base.sensors import Sensor
from gz_testauto.simulators.interface import PlacedRobot
from gz_testauto.simulators.merged_scan import merged_scan

# A function that returns the distances (m) along a sensor's rays, shape (rows · columns,). They are
# infinite beyond the range.
Measure = Callable[[Sensor], np.ndarray]

# tolerance for rounding, in periods of a sensor or in s
EARLY = 1e-6


class SensorChannel:
    def __init__(self, sensor: Sensor, generator: np.random.Generator, robot: str) -> None:
        self._sensor, self._generator = sensor, generator
        self._shapes = frozenset(f"{robot}::{shape}" for shape in sensor.collisions)
        self._last_period = -1
        self._new_contacts: List[Contact] = []
        self._readings: Deque[SensorReading] = deque()

    def update(self, time_s: float, measure: Measure, contacts: Sequence[Contact]) -> SensorReading:
        """Measure, if a measurement is due, and return the newest available reading.

        The first reading is returned even before it is available. ``contacts`` are all contacts of
        the robot since the previous call.
        """
        if self._shapes:
            self._new_contacts += _of_shapes(contacts, self._shapes)
        if self._is_due(time_s):
            self._readings.append(self._reading(time_s, measure))
        available_s = time_s - self._sensor.delay_s + EARLY
        while len(self._readings) > 1 and self._readings[1].stamp_s <= available_s:
            self._readings.popleft()
        return self._readings[0]

    def _is_due(self, time_s: float) -> bool:
        """Return whether a measurement is due, and begin its period."""
        rate_hz = self._sensor.update_rate_hz
        if rate_hz <= 0.0:
            return not self._readings or time_s > self._readings[-1].stamp_s
        period = int(time_s * rate_hz + EARLY)
        if period <= self._last_period:
            return False
        self._last_period = period
        return True

    def _reading(self, time_s: float, measure: Measure) -> SensorReading:
        sensor = self._sensor
        if sensor.kind == "contact":
            contacts, self._new_contacts = tuple(self._new_contacts), []
            return SensorReading(sensor, time_s, np.empty((0, 0)), contacts)
        ranges = np.array(measure(sensor), dtype=float)
        ranges[~(ranges < sensor.range_max_m)] = np.inf
        ranges = np.maximum(ranges, sensor.range_min_m)
        if sensor.kind == "range":
            ranges = np.array([ranges.min(initial=np.inf)])
        if any(sensor.noise_m):
            hits = np.isfinite(ranges)
            noise = self._generator.normal(*sensor.noise_m, size=len(ranges))
            limits = (sensor.range_min_m, sensor.range_max_m)
            ranges[hits] = np.clip(ranges[hits] + noise[hits], *limits)
        shape = (1, 1) if sensor.kind == "range" else (sensor.rows.samples, sensor.columns.samples)
        ranges = ranges.reshape(shape)
        ranges.setflags(write=False)
        return SensorReading(sensor, time_s, ranges)


class RobotSensors:
    """The selected sensors and the merged lidar of robot ``number`` of a scene."""

    def __init__(self, placed_robot: PlacedRobot, seed: int, number: int) -> None:
        lidar = placed_robot.robot.lidar
        self._merged_lidar = None if lidar is None or not lidar.parts else lidar
        self._scan: Optional[LaserScan] = None
        self._channels: Dict[str, SensorChannel] = {}
        for sensor in placed_robot.simulated:
            key = zlib.crc32(sensor.name.encode("utf-8"))
            generator = np.random.default_rng([seed, number, key])
            self._channels[sensor.name] = SensorChannel(sensor, generator, placed_robot.robot.name)

    def update(
        self, time_s: float, measure: Measure, robot_readings: SensorReadings
    ) -> SensorReadings:
        readings = {
            name: channel.update(time_s, measure, robot_readings.contacts)
            for name, channel in self._channels.items()
        }
        if self._merged_lidar is None:
            return replace(robot_readings, sensors=readings)
        parts = [readings[part.name] for part in self._merged_lidar.parts]
        if self._scan is None or parts[0].stamp_s > self._scan.stamp_s:
            self._scan = merged_scan(self._merged_lidar, parts)
        return replace(robot_readings, sensors=readings, scan=self._scan)


def _of_shapes(contacts: Sequence[Contact], shapes: "frozenset[str]") -> List[Contact]:
    """Return the contacts of ``shapes``, with shapes swapped so that ``first`` is in ``shapes``."""
    return [
        contact if contact.first in shapes else _swap_shapes(contact)
        for contact in contacts
        if contact.first in shapes or contact.second in shapes
    ]


def _swap_shapes(contact: Contact) -> Contact:
    return replace(
        contact,
        first=contact.second,
        second=contact.first,
        normals=tuple(map(_negative, contact.normals)),
        forces_n=tuple(map(_negative, contact.forces_n)),
    )


def _negative(vector: Tuple[float, float, float]) -> Tuple[float, float, float]:
    x, y, z = vector
    return -x, -y, -z
