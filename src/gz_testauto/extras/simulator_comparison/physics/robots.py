"""Robots of the physics checks, with their published properties."""

from dataclasses import dataclass
from pathlib import Path
from typing import List, Tuple

import numpy as np

from gz_testauto.base import resources
from gz_testauto.extras.simulator_comparison.physics.scenes import GRAVITY_MPS2
from gz_testauto.sdf.robot import RobotModel, read_robot

WHEELBASE_M = 0.512
"""Wheelbase of the Husky."""


@dataclass(frozen=True)
class WheelContacts:
    """Contacts of a robot on level ground: positions of the wheels and of the center of mass (m) in
    its frame, its mass (kg), and the width of a wheel (m). A wheel touches along a line across the
    robot, or in one point if the width is 0."""

    wheels_m: Tuple[Tuple[float, float], ...]
    center_m: Tuple[float, float]
    mass_kg: float
    width_m: float = 0.0

    def loads_n(self) -> List[float]:
        """Return the load on each wheel at rest: of all loads in equilibrium the most even ones, as
        on slightly compliant ground."""
        at = np.array(self.wheels_m)
        balance = np.vstack([np.ones(len(at)), at.T])
        weight = self.mass_kg * GRAVITY_MPS2
        wanted = weight * np.array([1.0, *self.center_m])
        return [float(load) for load in np.linalg.pinv(balance) @ wanted]


HUSKY = WheelContacts(
    wheels_m=((0.256, 0.2854), (0.256, -0.2854), (-0.256, 0.2854), (-0.256, -0.2854)),
    center_m=(-0.00065 * 46.034 / 56.582, -0.085 * 46.034 / 56.582),
    mass_kg=56.582,
    width_m=0.1143,
)
"""Clearpath's Husky A200 with the public figures of its model."""


def husky() -> RobotModel:
    """Return a robot on four driven wheels."""
    return read_robot(resources.share_directory() / "models" / "husky_a200")


def differential() -> RobotModel:
    """Return a robot on two driven wheels and two frictionless balls."""
    return read_robot(resources.share_directory() / "models" / "jackal_sized")


def spun(folder: Path, arm_m: float) -> RobotModel:
    """Return a box without a drive plug-in, with an IMU ``arm_m`` (m) in front of its center."""
    path = folder / "spun.sdf"
    path.write_text(f"""<sdf version="1.6"><model name="spun"><link name="base"><inertial>
    <mass>10</mass><inertia><ixx>0.2</ixx><iyy>0.2</iyy><izz>0.3</izz></inertia></inertial>
    <collision name="body"><geometry><box><size>0.4 0.4 0.2</size></box></geometry></collision>
    <sensor name="imu" type="imu"><pose>{arm_m} 0 0 0 0 0</pose><always_on>1</always_on>
    <update_rate>100</update_rate></sensor></link></model></sdf>""")
    return read_robot(path)
