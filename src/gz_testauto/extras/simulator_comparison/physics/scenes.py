"""Scenes of the physics checks: a plane, gravity, and models; and the result of a check.

Slopes are simulated by tilted gravity, never by a tilted floor, so that results do not depend on
how an engine detects contacts with tilted shapes.
"""

import math
from pathlib import Path
from typing import NamedTuple, Optional, Tuple

from gz_testauto.base.pose import Pose2D
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.interface import Scene, Simulation, Simulator

GRAVITY_MPS2 = 9.8
"""SDF's default, which is set explicitly for every engine."""

Vector = Tuple[float, float, float]

LEVEL: Vector = (0.0, 0.0, -GRAVITY_MPS2)

FLOOR = """<model name="floor"><static>1</static><link name="link"><collision name="plane">
<geometry><plane><normal>0 0 1</normal><size>100 100</size></plane></geometry>{surface}
</collision></link></model>"""


class PhysicsResult(NamedTuple):
    """A measured and the exact value, in the check's unit. ``scale`` is the denominator of the
    deviation if the exact value is 0."""

    value: float
    exact: float
    scale: Optional[float] = None


def surface(mu: float) -> str:
    """Return a collision's ``<surface>`` with this coefficient of friction in every direction."""
    return f"<surface><friction><ode><mu>{mu}</mu><mu2>{mu}</mu2></ode></friction></surface>"


def slope(angle_rad: float) -> Vector:
    """Return gravity (m/s²) on a slope that descends towards +x, in the slope's frame."""
    return (GRAVITY_MPS2 * math.sin(angle_rad), 0.0, -GRAVITY_MPS2 * math.cos(angle_rad))


def body(name: str, shape: str, at: Vector, mass_kg: float, moments: Vector, mu: float) -> str:
    """Return a dynamic model of one link: ``shape`` is SDF's ``<geometry>``, ``moments`` are its
    principal moments of inertia (kg m²)."""
    xx, yy, zz = moments
    x, y, z = at
    return f"""<model name="{name}"><pose>{x} {y} {z} 0 0 0</pose><link name="link"><inertial>
    <mass>{mass_kg}</mass><inertia><ixx>{xx}</ixx><iyy>{yy}</iyy><izz>{zz}</izz></inertia>
    </inertial><collision name="body"><geometry>{shape}</geometry>{surface(mu)}</collision></link>
    </model>"""


class PhysicsSceneLoader:
    """An open simulator at one physics step, and a folder for the worlds that it loads."""

    def __init__(self, simulator: Simulator, step_s: float, folder: Path) -> None:
        self._simulator, self.step_s, self._folder = simulator, step_s, folder

    def load(
        self,
        *models: str,
        gravity: Vector = LEVEL,
        mu: Optional[float] = 1.0,
        robot: Optional[RobotModel] = None,
    ) -> Simulation:
        """Load a world with a floor of this friction (no floor if None), these models, and a robot
        in the middle."""
        floor = "" if mu is None else FLOOR.format(surface=surface(mu))
        x, y, z = gravity
        path = self._folder / "physics.world"
        path.write_text(
            f'<sdf version="1.6"><world name="physics"><gravity>{x} {y} {z}</gravity>'
            f'<physics type="ode"><max_step_size>{self.step_s}</max_step_size>'
            f"<real_time_update_rate>0</real_time_update_rate></physics>"
            f"{floor}{''.join(models)}</world></sdf>"
        )
        return self._simulator.load(Scene(path, robot, Pose2D(0.0, 0.0, 0.0)))
