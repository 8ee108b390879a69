"""Scenes for checks of physics, and checks of single bodies: fall, rolling and sliding.

Slopes are simulated by tilted gravity, so that results do not depend on contacts of tilted shapes.
"""

import math
from pathlib import Path
from typing import List, NamedTuple, Optional, Tuple

from gz_testauto.base.errors import SimulatorError
from gz_testauto.base.pose import Pose2D
from gz_testauto.sdf.robot import RobotModel
from gz_testauto.simulators.changes import SetModel
from gz_testauto.simulators.interface import Scene, Simulation, Simulator

GRAVITY_MPS2 = 9.8
"""Default gravity of SDF (m/s²), which is set explicitly for every physics engine."""

Vector = Tuple[float, float, float]

LEVEL: Vector = (0.0, 0.0, -GRAVITY_MPS2)

FLOOR = """<model name="floor"><static>1</static><link name="link"><collision name="plane">
<geometry><plane><normal>0 0 1</normal><size>100 100</size></plane></geometry>{surface}
</collision></link></model>"""


class PhysicsResult(NamedTuple):
    """A measured value and the exact value. ``scale`` is the denominator of the deviation if the
    exact value is 0."""

    value: float
    exact: float
    scale: Optional[float] = None


def surface(mu: float) -> str:
    """Return the ``<surface>`` of a collision with this friction coefficient."""
    return f"<surface><friction><ode><mu>{mu}</mu><mu2>{mu}</mu2></ode></friction></surface>"


def slope(angle_rad: float) -> Vector:
    """Return gravity (m/s²) on a slope that descends towards +x, in the slope's frame."""
    return (GRAVITY_MPS2 * math.sin(angle_rad), 0.0, -GRAVITY_MPS2 * math.cos(angle_rad))


def body(name: str, shape: str, at: Vector, mass_kg: float, moments: Vector, mu: float) -> str:
    """Return a dynamic model of one link. ``shape`` is the ``<geometry>`` in SDF, and ``moments``
    are the principal moments of inertia (kg m²)."""
    xx, yy, zz = moments
    x, y, z = at
    return f"""<model name="{name}"><pose>{x} {y} {z} 0 0 0</pose><link name="link"><inertial>
    <mass>{mass_kg}</mass><inertia><ixx>{xx}</ixx><iyy>{yy}</iyy><izz>{zz}</izz></inertia>
    </inertial><collision name="body"><geometry>{shape}</geometry>{surface(mu)}</collision></link>
    </model>"""


class PhysicsSceneLoader:
    """A loader of worlds into an open simulator with one physics step."""

    def __init__(self, simulator: Simulator, step_s: float, folder: Path) -> None:
        self._simulator, self.step_s, self._folder = simulator, step_s, folder

    def load(
        self,
        *models: str,
        gravity: Vector = LEVEL,
        mu: Optional[float] = 1.0,
        robot: Optional[RobotModel] = None,
    ) -> Simulation:
        """Load a world with these models, with a robot in its middle, and with a floor of friction
        ``mu`` unless it is None."""
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


FALL_S = 0.7
BALL_SLOPE_RAD = math.radians(10.0)
BALL_RADIUS_M, BALL_KG = 0.1, 1.0
MU = 0.5
"""Friction coefficient of the sliding box."""
SLOPE_OFFSET_RAD = math.radians(5.0)
"""Difference (rad) between the slopes on which the box slides or rests and the angle of
friction."""
INTERVAL_S = 0.5
SETTLING_S = 0.5
SPEED_MPS = 2.0
FIRST_S = 0.02
"""Time (s) after which the box must still have most of its initial speed."""


def free_fall(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the distance (m) that a box falls."""
    shape = "<box><size>0.2 0.2 0.2</size></box>"
    simulation = loader.load(body("box", shape, (0, 0, 5.0), 1.0, (0.0067,) * 3, mu=1.0))
    end = simulation.step(FALL_S).models["box"].pose.position
    return PhysicsResult(5.0 - end[2], GRAVITY_MPS2 * FALL_S**2 / 2)


def rolling_ball(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the acceleration (m/s²) of a ball that rolls down a slope without slip."""
    shape = f"<sphere><radius>{BALL_RADIUS_M}</radius></sphere>"
    moment = 0.4 * BALL_KG * BALL_RADIUS_M**2
    ball = body("ball", shape, (0.0, 0.0, BALL_RADIUS_M), BALL_KG, (moment,) * 3, mu=1.0)
    simulation = loader.load(ball, gravity=slope(BALL_SLOPE_RAD))
    exact = 5 / 7 * GRAVITY_MPS2 * math.sin(BALL_SLOPE_RAD)
    return PhysicsResult(_acceleration_mps2(_positions_m(simulation, "ball")), exact)


def _with_box(loader: PhysicsSceneLoader, gravity: Vector) -> Simulation:
    shape = "<box><size>0.4 0.4 0.2</size></box>"
    moments = (10 / 12 * 0.2, 10 / 12 * 0.2, 10 / 12 * 0.32)
    return loader.load(body("box", shape, (0.0, 0.0, 0.1), 10.0, moments, MU), gravity=gravity)


def _positions_m(simulation: Simulation, model: str) -> List[float]:
    """Return the x coordinates of a model at three equally spaced times."""
    return [float(simulation.step(INTERVAL_S).models[model].pose.position[0]) for _ in range(3)]


def _acceleration_mps2(positions_m: List[float]) -> float:
    first, second, third = positions_m
    return (third - 2 * second + first) / INTERVAL_S**2


def sliding_box(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the acceleration (m/s²) of a box on a slope above the angle of friction."""
    angle = math.atan(MU) + SLOPE_OFFSET_RAD
    positions_m = _positions_m(_with_box(loader, slope(angle)), "box")
    exact = GRAVITY_MPS2 * (math.sin(angle) - MU * math.cos(angle))
    return PhysicsResult(_acceleration_mps2(positions_m), exact)


def sticking_box(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the distance (m) that a box creeps in one second on a slope below the angle of
    friction. The scale is the distance of a frictionless box."""
    angle = math.atan(MU) - SLOPE_OFFSET_RAD
    first, _, third = _positions_m(_with_box(loader, slope(angle)), "box")
    return PhysicsResult(third - first, 0.0, GRAVITY_MPS2 * math.sin(angle) / 2)


def stopping_box(loader: PhysicsSceneLoader) -> PhysicsResult:
    """Return the distance (m) that a box slides on level ground until it is at rest."""
    simulation = _with_box(loader, LEVEL)
    begin = simulation.step(SETTLING_S).models["box"].pose.position[0]
    simulation.apply([SetModel("box", linear_mps=(SPEED_MPS, 0.0, 0.0))])
    moved_m = simulation.step(FIRST_S).models["box"].pose.position[0] - begin
    if moved_m < SPEED_MPS * FIRST_S / 2:
        raise SimulatorError("the box does not have the speed that was set")
    exact = SPEED_MPS**2 / (2 * MU * GRAVITY_MPS2)
    end = simulation.step(2.0).models["box"].pose.position[0]
    return PhysicsResult(end - begin, exact)
