"""Whether a simulator's ground is the ground that it was given.

Owns two measurements in the simulator itself, and the refusal of a simulator that fails one: balls
let down on the terrain at points drawn from a seed, each on a vertical joint, so that it comes to
lie and cannot roll; and a sled on four balls that slides on level ground of the same kind and
friction, down a slope that gravity makes. A ``Simulation`` that moves no bodies may tell its ground
instead (:class:`GroundHeightProvider`).
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import numpy as np
from scipy.spatial import cKDTree
from typing_extensions import Protocol, runtime_checkable

from gz_testauto.base.errors import SceneError, SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.extras.simulator_comparison.terrain import Terrain, write_world
from gz_testauto.extras.simulator_comparison.terrain.contact import resting_m
from gz_testauto.extras.simulator_comparison.terrain.world_file import GRAVITY_MPS2
from gz_testauto.sampling.seeds import PROBE, child_generator
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation, Simulator

MAX_HEIGHT_ERROR_M = 1e-3
MAX_FRICTION_ERROR = 0.05
"""A ground that is farther off, in height or in the share of its friction, is not the same."""

MIN_BALL_RADIUS_M = 0.01
BALL_OVER_PITCH = 0.5
"""Radius of what comes to lie, at least, and over the grid's pitch: ODE's height maps let through
what is much smaller than their cells (found: 0.2; 0.4 lies)."""
FOOT_M = 0.05
"""Radius of what slides, and half the distance from foot to foot."""
LIFT_M = 0.02
"""How high above its place a ball is let go."""
FALL_MPS = 0.2
"""The speed that its joint's damping lets it fall at."""
CHECK_PERIOD_S = 0.1
SETTLE_S = 3.0
AT_REST_M = 2e-5
"""Balls that moved by less from one look to the next lie still."""
FALLEN_M = 0.5
"""A ball this far below its place fell through the ground."""
BALLS_PER_MODEL = 10
"""So many balls are a model: a simulator that is slow to take models takes them one by one."""
CANDIDATES_PER_POINT = 10
"""So many points are drawn for each that is needed."""

EXTRA_SLOPE_RAD = math.radians(3.0)
"""How much steeper than the angle of friction the slope is. Slowly, because MuJoCo's bodies hop the
higher the faster they slide."""
SLIDE_S = 0.8
MIN_LOAD_SHARE = 0.1
"""A sled that the ground presses with a smaller share of its weight falls."""
RIM_M = 0.02
"""What makes level ground a height map: its edge is this much higher."""
LEVEL_PIXELS, LEVEL_PITCH_M = 33, 1.6
"""Cells so large that the sled stays within one triangle of half a cell, whichever way it is cut.
Bullet's and MuJoCo's bodies catch at edges between triangles that are level, the more the smaller
these are (found: balls in Bullet by 30 %, boxes in MuJoCo by 36 %), which is no friction."""
SLED_AT_M = (0.25, 0.1)


@runtime_checkable
class GroundHeightProvider(Protocol):
    """A simulation that knows the height of its ground and moves no bodies on it."""

    def ground_m(self, x_m: np.ndarray, y_m: np.ndarray) -> np.ndarray:
        """Heights (k,) above the world's zero at points (k,); NaN where there is no ground."""


@dataclass(frozen=True, eq=False)
class GroundProbe:
    """What was measured of one terrain in one simulator.

    ``points_m`` (k, 2) are where; ``errors_m`` (k,) how much higher the ground is there than the
    terrain, -inf where bodies fall through it. ``friction`` is what a slide says; where the sled
    did not slide it is the tangent of the slope, the least that it can be; None in a simulator
    without friction. ``refusal`` says why the simulator is not to be compared on this terrain.
    """

    terrain: str
    simulator: str
    points_m: np.ndarray
    errors_m: np.ndarray
    friction: Optional[float]
    expected_friction: float
    refusal: Optional[str]

    @property
    def worst_m(self) -> float:
        """The greatest error, without its sign."""
        return float(np.abs(self.errors_m).max())

    @property
    def median_m(self) -> float:
        """The median error, with its sign: how much higher the ground lies as a whole."""
        return float(np.median(self.errors_m))


def probe_ground(
    simulator: Simulator,
    terrain: Terrain,
    folder: Path,
    points: int = 200,
    seed: int = 0,
    step_s: float = 0.001,
) -> GroundProbe:
    """Measure the ground that ``simulator`` makes of ``terrain``, at so many points drawn from
    ``seed``. Worlds of the physics step ``step_s`` (s) are written into ``folder``.

    Loads two scenes. Raises ``SimulatorError`` when one cannot be loaded, and ``SpecError`` for a
    terrain on which fewer points can be told in the same way by all simulators.
    """
    places, expected = _places(terrain, points, seed)
    balls = _balls(places, expected + LIFT_M, _radius_m(terrain))
    simulation = simulator.load(Scene(write_world(terrain, folder, step_s), models=balls))
    friction: Optional[float] = None
    if isinstance(simulation, GroundHeightProvider):
        errors = simulation.ground_m(*places.T) - terrain.height_m(*places.T)
        errors = np.where(np.isnan(errors), -np.inf, errors)
    else:
        errors = _settled_m(simulation, len(places)) - expected
        errors[errors < -FALLEN_M] = -np.inf
        friction = _friction(simulator, terrain, folder, step_s)
    return GroundProbe(
        terrain=terrain.name,
        simulator=simulator.name,
        points_m=places,
        errors_m=errors,
        friction=friction,
        expected_friction=terrain.friction,
        refusal=_refusal(errors, friction, terrain.friction),
    )


def _places(terrain: Terrain, points: int, seed: int) -> Tuple[np.ndarray, np.ndarray]:
    """Points (k, 2) of the grid away from each other, and the heights (k,) at which balls lie
    there in any simulator."""
    draw = child_generator(seed, PROBE, terrain.name)
    radius = _radius_m(terrain)
    border = int(np.ceil(2 * radius / terrain.pitch_m))
    drawn = draw.integers(border, terrain.pixels - border, (CANDIDATES_PER_POINT * points, 2))
    x_m, y_m = terrain.x_m[drawn[:, 1]], terrain.y_m[drawn[:, 0]]
    heights = resting_m(terrain, x_m, y_m, radius)
    places = np.column_stack([x_m, y_m])
    near = cKDTree(places).query_ball_point(places, 3 * radius)
    chosen: List[int] = []
    taken = np.zeros(len(places), bool)
    for index in np.flatnonzero(~np.isnan(heights)):
        if len(chosen) < points and not taken[near[index]].any():
            taken[index] = True
            chosen.append(index)
    if len(chosen) < points:
        raise SpecError(
            f"terrain {terrain.name!r}: a ball of {1000 * radius:g} mm lies at the same height in "
            f"every simulator at {len(chosen)} of {len(places)} points, and {points} are to be "
            "probed; ask for fewer, or give the terrain more pixels or less relief"
        )
    return places[chosen], heights[chosen]


def _settled_m(simulation: Simulation, count: int) -> np.ndarray:
    """Heights (count,) of the balls once they lie still, or have had the time."""
    names = [f"probe_{number // BALLS_PER_MODEL}::ball_{number}" for number in range(count)]
    look_s = _whole_steps(CHECK_PERIOD_S, simulation.step_size_s)
    before = np.full(count, np.inf)
    for _ in range(round(SETTLE_S / look_s)):
        links = simulation.step(look_s).links
        if not all(name in links for name in names):
            raise SceneError(
                "the simulator tells no poses of links, so its ground cannot be probed; give its "
                "Simulation a method ground_m "
                "(gz_testauto.extras.simulator_comparison.probe.GroundHeightProvider)"
            )
        now = np.array([links[name].pose.position[2] for name in names])
        if np.abs(now - before).max() < AT_REST_M:
            break
        before = now
    return now


def _friction(simulator: Simulator, terrain: Terrain, folder: Path, step_s: float) -> float:
    """mu = (g sin θ - a) / (g cos θ + b) of a sled on level ground under gravity that leans by θ.

    a is its acceleration along the ground; b, that away from it, is 0 unless the sled hops, and
    then that of the same moments. 0 where nothing carries the sled."""
    heights = np.zeros((LEVEL_PIXELS, LEVEL_PIXELS))
    if terrain.relief_m > 0.0:
        heights[[0, -1]] = heights[:, [0, -1]] = RIM_M
    size_m = (LEVEL_PIXELS - 1) * LEVEL_PITCH_M
    level = Terrain(f"{terrain.name}_level", heights, size_m, terrain.friction)
    slope = math.atan(terrain.friction) + EXTRA_SLOPE_RAD
    down, into = GRAVITY_MPS2 * math.sin(slope), GRAVITY_MPS2 * math.cos(slope)
    world = write_world(level, folder, step_s, (down, 0.0, -into))
    # with 1 the pair has the ground's, whether it is the smaller of the two or their product
    own = max(1.0, terrain.friction)
    sled = NamedModel("probe", _sled_sdf(own), Pose((*SLED_AT_M, 0.0)))
    simulation = simulator.load(Scene(world, models=(sled,)))
    half_s = _whole_steps(SLIDE_S / 2, simulation.step_size_s)
    start, middle, end = (
        np.array(snapshot.models["probe"].pose.position)
        for snapshot in (simulation.snapshot(), simulation.step(half_s), simulation.step(half_s))
    )
    along, _, away = (end - 2 * middle + start) / half_s**2
    pressed = into + away
    return float((down - along) / pressed) if pressed > MIN_LOAD_SHARE * into else 0.0


def _refusal(errors_m: np.ndarray, friction: Optional[float], expected: float) -> Optional[str]:
    said = []
    lost = int(np.isinf(errors_m).sum())
    there = errors_m[np.isfinite(errors_m)]
    if lost:
        said.append(f"at {lost} of {len(errors_m)} points bodies fall through its ground")
    if len(there) and np.abs(there).max() > MAX_HEIGHT_ERROR_M:
        worst = 1000 * there[np.abs(there).argmax()]
        off = int((np.abs(there) > MAX_HEIGHT_ERROR_M).sum())
        said.append(
            f"its ground is off at {off} of {len(errors_m)} points, by up to {worst:+.1f} mm "
            f"(median {1000 * np.median(there):+.1f} mm); at most "
            f"{1000 * MAX_HEIGHT_ERROR_M:g} mm are the same ground"
        )
    if friction is not None and abs(friction - expected) > MAX_FRICTION_ERROR * expected:
        said.append(
            f"its friction is {friction:.3g} where {expected:.3g} was given; at most "
            f"{100 * MAX_FRICTION_ERROR:g} % are the same ground"
        )
    return "; ".join(said) or None


def _radius_m(terrain: Terrain) -> float:
    return max(MIN_BALL_RADIUS_M, BALL_OVER_PITCH * terrain.pitch_m)


def _whole_steps(duration_s: float, step_s: float) -> float:
    """About that long, in whole physics steps."""
    return max(1, round(duration_s / step_s)) * step_s


def _ball_shape(name: str, radius_m: float, friction: float, pose: str) -> str:
    return f"""<collision name="{name}"><pose>{pose}</pose>
<geometry><sphere><radius>{radius_m!r}</radius></sphere></geometry><surface><friction><ode>
<mu>{friction!r}</mu><mu2>{friction!r}</mu2></ode></friction></surface></collision>"""


def _balls(places_m: np.ndarray, heights_m: np.ndarray, radius_m: float) -> Tuple[NamedModel, ...]:
    """Models of balls of 1 kg, each ball on a vertical joint to the world."""
    damping = GRAVITY_MPS2 / FALL_MPS
    shape = _ball_shape("ball", radius_m, 0.0, "0 0 0 0 0 0")
    parts: Dict[str, List[str]] = {}
    for number, (x, y, z) in enumerate(np.column_stack([places_m, heights_m]).tolist()):
        parts.setdefault(f"probe_{number // BALLS_PER_MODEL}", []).append(
            f"""<link name="ball_{number}"><pose>{x!r} {y!r} {z!r} 0 0 0</pose><inertial>
<mass>1</mass><inertia><ixx>0.001</ixx><iyy>0.001</iyy><izz>0.001</izz></inertia></inertial>
{shape}</link>
<joint name="down_{number}" type="prismatic"><parent>world</parent><child>ball_{number}</child>
<axis><xyz>0 0 1</xyz><limit><lower>-100</lower><upper>100</upper></limit>
<dynamics><damping>{damping!r}</damping></dynamics></axis></joint>"""
        )
    return tuple(
        NamedModel(name, f'<sdf version="1.6"><model name="{name}">{"".join(balls)}</model></sdf>')
        for name, balls in parts.items()
    )


def _sled_sdf(friction: float) -> str:
    """A sled of 10 kg on four balls, with its center of mass low."""
    feet = "".join(
        _ball_shape(f"foot_{x:+g}_{y:+g}", FOOT_M, friction, f"{x} {y} {FOOT_M} 0 0 0")
        for x in (FOOT_M, -FOOT_M)
        for y in (FOOT_M, -FOOT_M)
    )
    return f"""<sdf version="1.6"><model name="probe"><link name="sled"><inertial>
<pose>0 0 0.02 0 0 0</pose><mass>10</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>
</inertial>{feet}</link></model></sdf>"""
