"""Plausibility of a simulated run.

A run in which the robot falls or drives through the ground, is thrown, or has non-finite poses does
not measure the simulator's accuracy. It is invalid, with its reason, and is not measured.
"""

import math
from typing import Optional, Tuple

import numpy as np

from gz_testauto.extras.simulator_comparison.bench.run_maneuver import SimulatedRun
from gz_testauto.extras.simulator_comparison.bench.wheels import is_inside
from gz_testauto.extras.simulator_comparison.maneuvers import PERIOD_S
from gz_testauto.extras.simulator_comparison.terrain import Terrain

MAX_BELOW_M, MAX_ABOVE_M = 0.15, 0.5
"""Limits of the height of a wheeled robot's base relative to the ground below it."""

MAX_VERTICAL_MPS = 3.0
"""Largest vertical speed; a fall from half a meter reaches it."""

MAX_TILT_RAD = math.radians(75.0)

MAX_ACCELERATION_MPS2 = 500.0
"""Largest mean acceleration over a sample, a change of speed of 5 m/s. Hard wheels on sharp stones
reach an eighth of it."""

MAX_WHEEL_DEPTH_M = 0.02
"""Largest depth of a wheel in the ground. If a physics engine stops wheels at edges, their depth is
0 to 5 mm; otherwise it is 30 to 70 mm at sides of 38 and 76 mm."""

MIN_DEEP_POSES = 2
"""Consecutive poses with a wheel at that depth that make a run invalid."""


def implausibility(run: SimulatedRun, terrain: Terrain) -> Optional[str]:
    """Return the reason why a run is not plausible, None if it is."""
    odometry, imu = run.recording.odometry, run.recording.imu
    assert odometry is not None and imu is not None, "simulated runs have both"
    ground = np.asarray(terrain.height_m(odometry.values[:, 0], odometry.values[:, 1]))
    above = run.height_m - run.rest_height_m - ground
    climbing = np.abs(np.diff(run.height_m, prepend=run.height_m[0])) / PERIOD_S
    faults = (
        (~np.isfinite(ground), "the robot has left the terrain"),
        (above < -MAX_BELOW_M, f"the robot is more than {MAX_BELOW_M:g} m below the ground"),
        (above > MAX_ABOVE_M, f"the robot is more than {MAX_ABOVE_M:g} m above the ground"),
        (
            climbing > MAX_VERTICAL_MPS,
            f"the robot moves up or down at more than {MAX_VERTICAL_MPS:g} m/s",
        ),
        (run.tilt_rad > MAX_TILT_RAD, "the robot has tipped over"),
    )
    for wrong, reason in faults:
        if wrong.any():
            return f"{reason} after {odometry.time_s[int(np.argmax(wrong))]:.2f} s"
    sunk = _first_inside(run, terrain)
    if sunk is not None:
        link, index = sunk
        return (
            f"{link} is more than {1000 * MAX_WHEEL_DEPTH_M:g} mm inside the ground after "
            f"{odometry.time_s[index]:.2f} s"
        )
    strong = np.linalg.norm(imu.values[:, 3:], axis=1) > MAX_ACCELERATION_MPS2
    if strong.any():
        at_s = imu.time_s[int(np.argmax(strong))]
        return (
            f"the accelerometer reads more than {MAX_ACCELERATION_MPS2:g} m/s² after {at_s:.2f} s"
        )
    return None


def _first_inside(run: SimulatedRun, terrain: Terrain) -> Optional[Tuple[str, int]]:
    """Return the wheel that is first too deep for too long, and the index of the first pose."""
    found = []
    for link, points_m in run.wheels_m.items():
        deep = is_inside(terrain, points_m, MAX_WHEEL_DEPTH_M).any(axis=1)
        for index in range(len(deep) - MIN_DEEP_POSES + 1):
            if deep[index : index + MIN_DEEP_POSES].all():
                found.append((index, link))
                break
    if not found:
        return None
    index, link = min(found)
    return link, index
