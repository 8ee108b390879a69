"""Measurement of whether the ground of a simulator matches the specified terrain.

Balls on vertical joints are dropped on the terrain, and a sled slides on level ground of the same
kind and friction under tilted gravity. A ``Simulation`` that moves no bodies can return the height
of its ground instead (:class:`GroundHeightProvider`).
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple

import numpy as np
from scipy.spatial import cKDTree
from typing_extensions import Protocol, runtime_checkable

from gz_testauto.base.errors import SceneError, SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.extras.simulator_comparison.terrain import Terrain, write_world
from gz_testauto.extras.simulator_comparison.terrain.terrain import GRAVITY_MPS2
from gz_testauto.sampling.seeds import PROBE, child_generator
from gz_testauto.simulators.interface import NamedModel, Scene, Simulation, Simulator

MAX_HEIGHT_ERROR_M = 1e-3
MAX_FRICTION_ERROR = 0.05  # largest relative error

MIN_BALL_RADIUS_M = 0.01
# ODE's height maps do not stop bodies that are much smaller than their cells: with a ratio of 0.2
# balls fall through, with 0.4 they do not
BALL_OVER_PITCH = 0.5
FOOT_M = 0.05  # radius of the feet of the sled, and half their distance
SAMPLES_PER_RADIUS = 16  # points at which the contact of a ball is computed, along its radius
SAME_M = 1e-4  # tolerance of equal resting heights on the surfaces of _surfaces
ASIDE_M = 0.7e-3  # largest height by which the slopes around a grid point raise a ball
LIFT_M = 0.02  # height above the resting position from which a ball falls
FALL_MPS = 0.2  # fall speed of a ball, limited by damping of its joint
CHECK_PERIOD_S = 0.1
SETTLE_S = 3.0
AT_REST_M = 2e-5  # largest motion of a resting ball in one check period
FALLEN_M = 0.5  # depth from which a ball counts as fallen through the ground
BALLS_PER_MODEL = 10  # above 1, since some simulators spawn models slowly
CANDIDATES_PER_POINT = 10  # random candidates for each required point

# small, because sliding bodies in MuJoCo hop, and hop higher at higher speeds
EXTRA_SLOPE_RAD = math.radians(3.0)  # slope above the angle of friction
SLIDE_S = 0.8
MIN_LOAD_SHARE = 0.1  # share of its weight; with less load on the ground, a sled falls
RIM_M = 0.02  # height of the edge that makes level ground a height map instead of a plane
# The sled stays within one triangle of these large cells, for either diagonal. Level edges between
# triangles brake bodies in Bullet and MuJoCo, more so at smaller triangles (measured: balls in
# Bullet by 30 %, boxes in MuJoCo by 36 %), which is not friction.
LEVEL_PIXELS, LEVEL_PITCH_M = 33, 1.6
SLED_AT_M = (0.25, 0.1)


@runtime_checkable
class GroundHeightProvider(Protocol):
    """A simulation without moving bodies, which returns the height of its ground."""

    def ground_m(self, x_m: np.ndarray, y_m: np.ndarray) -> np.ndarray:
        """Return the heights (k,) above the world's zero at points (k,), NaN beyond the ground."""


@dataclass(frozen=True)
class GroundProbe:
    """Result of the probe of one terrain in the simulator of an entry.

    ``worst_m`` is the greatest absolute error of the height, infinite if bodies fall through.
    ``friction`` is the measured coefficient, the tangent of the slope if the sled did not slide, or
    NaN if it was not measured. ``refusal`` is the reason why maneuvers on this terrain are not
    compared.
    """

    entry: str
    terrain: str
    worst_m: float
    friction: float
    expected_friction: float
    refusal: Optional[str] = None


def probe_ground(
    simulator: Simulator,
    terrain: Terrain,
    folder: Path,
    entry: str = "",
    points: int = 200,
) -> GroundProbe:
    """Measure the height of the ground at ``points`` random points, and its friction. World files
    are written to ``folder``. Raises ``SpecError`` if too few points of the terrain have the same
    expected result in all simulators."""
    places, expected = _places(terrain, points)
    balls = _ball_models(places, expected + LIFT_M, _ball_radius_m(terrain))
    simulation = simulator.load(Scene(write_world(terrain, folder), models=balls))
    friction = math.nan
    if isinstance(simulation, GroundHeightProvider):
        errors = simulation.ground_m(*places.T) - terrain.height_m(*places.T)
        errors = np.where(np.isnan(errors), -np.inf, errors)
    else:
        errors = _settled_m(simulation, len(places)) - expected
        errors[errors < -FALLEN_M] = -np.inf
        friction = _friction(simulator, terrain, folder)
    return GroundProbe(
        entry,
        terrain.name,
        float(np.abs(errors).max()),
        friction,
        terrain.friction,
        _reason_of_refusal(errors, friction, terrain.friction),
    )


def _places(terrain: Terrain, points: int) -> Tuple[np.ndarray, np.ndarray]:
    """Return random points (k, 2) of the grid with a minimum distance, and the expected heights
    (k,) of balls at rest. Raises ``SpecError`` if there are fewer than k = ``points``."""
    draw = child_generator(0, PROBE, terrain.name)
    radius = _ball_radius_m(terrain)
    border = int(np.ceil(2 * radius / terrain.pitch_m))
    cells = draw.integers(border, terrain.pixels - border, (CANDIDATES_PER_POINT * points, 2))
    x_m, y_m = terrain.x_m[cells[:, 1]], terrain.y_m[cells[:, 0]]
    heights = resting_m(terrain, x_m, y_m, radius)
    places = np.column_stack([x_m, y_m])
    neighbors = cKDTree(places).query_ball_point(places, 3 * radius)
    chosen: List[int] = []
    is_occupied = np.zeros(len(places), bool)
    for index in np.flatnonzero(~np.isnan(heights)):
        if len(chosen) < points and not is_occupied[neighbors[index]].any():
            is_occupied[index] = True
            chosen.append(index)
    if len(chosen) < points:
        raise SpecError(
            f"terrain {terrain.name!r}: a ball of {1000 * radius:g} mm rests at the same height in "
            f"every simulator at {len(chosen)} of {len(places)} points, but the probe needs "
            f"{points}; probe fewer, or specify more pixels or less relief for the terrain"
        )
    return places[chosen], heights[chosen]


def resting_m(terrain: Terrain, x_m: np.ndarray, y_m: np.ndarray, radius_m: float) -> np.ndarray:
    """Return the expected heights (k,) of the centers of resting balls in the world frame, at
    points (k,) of the grid. They are NaN where simulators can differ."""
    # A ball at rest touches the highest of all points below it, each raised by the height of the
    # ball there. Within a cell, a simulator has a bilinear patch, or two triangles with either
    # diagonal.
    share = int(np.ceil(terrain.pitch_m / (radius_m / SAMPLES_PER_RADIUS)))
    step = terrain.pitch_m / share
    count = int(radius_m / step)
    offsets_m = np.arange(-count, count + 1) * step
    dx, dy = (axis.ravel() for axis in np.meshgrid(offsets_m, offsets_m))
    is_under_ball = dx**2 + dy**2 <= radius_m**2
    dx, dy = dx[is_under_ball], dy[is_under_ball]
    cap = np.sqrt(radius_m**2 - dx**2 - dy**2)
    lowest, highest = np.full(len(x_m), np.inf), np.full(len(x_m), -np.inf)
    for surface in _surfaces(terrain, x_m[:, None] + dx, y_m[:, None] + dy):
        height = (surface + cap).max(axis=1)
        lowest, highest = np.minimum(lowest, height), np.maximum(highest, height)
    on_point = np.asarray(terrain.height_m(x_m, y_m)) + radius_m
    # where a ball touches the slopes around its point, it sinks in ODE until it touches the point
    is_determined = (highest - lowest < SAME_M) & (highest - on_point < ASIDE_M)
    return np.where(is_determined, (lowest + highest) / 2, np.nan)


def _surfaces(terrain: Terrain, x_m: np.ndarray, y_m: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the heights of the ground at points for three interpolations of a cell: bilinear, and
    by two triangles with either diagonal."""
    rising = terrain.heights_m[::-1]
    # rounded, so that a point on the line between two cells is on it
    columns, rows = (
        np.round((along + terrain.size_m / 2) / terrain.pitch_m, 9) for along in (x_m, y_m)
    )
    column = np.clip(columns.astype(int), 0, terrain.pixels - 2)
    row = np.clip(rows.astype(int), 0, terrain.pixels - 2)
    a, b = columns - column, rows - row
    origin, east = rising[row, column], rising[row, column + 1]
    north, corner = rising[row + 1, column], rising[row + 1, column + 1]
    along, across = east - origin, north - origin
    yield origin + along * a + across * b + (corner - east - across) * a * b
    yield origin + np.where(
        a >= b, along * a + (corner - east) * b, (corner - north) * a + across * b
    )
    yield np.where(
        a + b <= 1,
        origin + along * a + across * b,
        corner + (north - corner) * (1 - a) + (east - corner) * (1 - b),
    )


def _settled_m(simulation: Simulation, count: int) -> np.ndarray:
    """Advance the simulation until all balls rest, or to the time limit, and return their heights
    (count,)."""
    names = [f"probe_{number // BALLS_PER_MODEL}::ball_{number}" for number in range(count)]
    period_s = _round_to_steps(CHECK_PERIOD_S, simulation.step_size_s)
    before = np.full(count, np.inf)
    for _ in range(round(SETTLE_S / period_s)):
        links = simulation.step(period_s).links
        if not all(name in links for name in names):
            raise SceneError(
                "the simulator reports no poses of links, so its ground cannot be probed; "
                "implement the method ground_m in its Simulation "
                "(gz_testauto.extras.simulator_comparison.probe.GroundHeightProvider)"
            )
        now = np.array([links[name].pose.position[2] for name in names])
        if np.abs(now - before).max() < AT_REST_M:
            break
        before = now
    return now


def _friction(simulator: Simulator, terrain: Terrain, folder: Path) -> float:
    """Return the friction coefficient ``(g sin θ - a) / (g cos θ + b)`` of level ground.

    Gravity is tilted by θ; a and b are the accelerations of the sled along the ground and away from
    it. The result is 0 if the ground does not support the sled.
    """
    heights = np.zeros((LEVEL_PIXELS, LEVEL_PIXELS))
    if terrain.relief_m > 0.0:
        heights[[0, -1]] = heights[:, [0, -1]] = RIM_M
    size_m = (LEVEL_PIXELS - 1) * LEVEL_PITCH_M
    level = Terrain(f"{terrain.name}_level", heights, size_m, terrain.friction)
    slope = math.atan(terrain.friction) + EXTRA_SLOPE_RAD
    down, into = GRAVITY_MPS2 * math.sin(slope), GRAVITY_MPS2 * math.cos(slope)
    world = write_world(level, folder, gravity_mps2=(down, 0.0, -into))
    # with 1 the pair has the ground's coefficient, for the minimum and for the product of the two
    sled_friction = max(1.0, terrain.friction)
    sled = NamedModel("probe", _sled_sdf(sled_friction), Pose((*SLED_AT_M, 0.0)))
    simulation = simulator.load(Scene(world, models=(sled,)))
    half_s = _round_to_steps(SLIDE_S / 2, simulation.step_size_s)
    start, middle, end = (
        np.array(snapshot.models["probe"].pose.position)
        for snapshot in (simulation.snapshot(), simulation.step(half_s), simulation.step(half_s))
    )
    along, _, away = (end - 2 * middle + start) / half_s**2
    pressed = into + away
    return float((down - along) / pressed) if pressed > MIN_LOAD_SHARE * into else 0.0


def _reason_of_refusal(errors_m: np.ndarray, friction: float, expected: float) -> Optional[str]:
    faults = []
    fallen = int(np.isinf(errors_m).sum())
    finite = errors_m[np.isfinite(errors_m)]
    if fallen:
        faults.append(f"at {fallen} of {len(errors_m)} points bodies fall through its ground")
    if len(finite) and np.abs(finite).max() > MAX_HEIGHT_ERROR_M:
        worst = 1000 * finite[np.abs(finite).argmax()]
        count = int((np.abs(finite) > MAX_HEIGHT_ERROR_M).sum())
        faults.append(
            f"its ground has a wrong height at {count} of {len(errors_m)} points, by up to "
            f"{worst:+.1f} mm "
            f"(median {1000 * np.median(finite):+.1f} mm); at most "
            f"{1000 * MAX_HEIGHT_ERROR_M:g} mm are allowed"
        )
    if abs(friction - expected) > MAX_FRICTION_ERROR * expected:
        faults.append(
            f"its friction is {friction:.3g} instead of {expected:.3g}; at most "
            f"{100 * MAX_FRICTION_ERROR:g} % are allowed"
        )
    return "; ".join(faults) or None


def _ball_radius_m(terrain: Terrain) -> float:
    return max(MIN_BALL_RADIUS_M, BALL_OVER_PITCH * terrain.pitch_m)


def _round_to_steps(duration_s: float, step_s: float) -> float:
    return max(1, round(duration_s / step_s)) * step_s


def _ball_shape(name: str, radius_m: float, friction: float, pose: str) -> str:
    return f"""<collision name="{name}"><pose>{pose}</pose>
<geometry><sphere><radius>{radius_m!r}</radius></sphere></geometry><surface><friction><ode>
<mu>{friction!r}</mu><mu2>{friction!r}</mu2></ode></friction></surface></collision>"""


def _ball_models(
    places_m: np.ndarray, heights_m: np.ndarray, radius_m: float
) -> Tuple[NamedModel, ...]:
    """Return models with balls at positions (n, 2) and heights (n,), which move only along z."""
    damping = GRAVITY_MPS2 / FALL_MPS
    shape = _ball_shape("ball", radius_m, 0.0, "0 0 0 0 0 0")
    balls_by_model: Dict[str, List[str]] = {}
    for number, (x, y, z) in enumerate(np.column_stack([places_m, heights_m]).tolist()):
        balls_by_model.setdefault(f"probe_{number // BALLS_PER_MODEL}", []).append(
            f"""<link name="ball_{number}"><pose>{x!r} {y!r} {z!r} 0 0 0</pose><inertial>
<mass>1</mass><inertia><ixx>0.001</ixx><iyy>0.001</iyy><izz>0.001</izz></inertia></inertial>
{shape}</link>
<joint name="down_{number}" type="prismatic"><parent>world</parent><child>ball_{number}</child>
<axis><xyz>0 0 1</xyz><limit><lower>-100</lower><upper>100</upper></limit>
<dynamics><damping>{damping!r}</damping></dynamics></axis></joint>"""
        )
    return tuple(
        NamedModel(name, f'<sdf version="1.6"><model name="{name}">{"".join(balls)}</model></sdf>')
        for name, balls in balls_by_model.items()
    )


def _sled_sdf(friction: float) -> str:
    feet = "".join(
        _ball_shape(f"foot_{x:+g}_{y:+g}", FOOT_M, friction, f"{x} {y} {FOOT_M} 0 0 0")
        for x in (FOOT_M, -FOOT_M)
        for y in (FOOT_M, -FOOT_M)
    )
    return f"""<sdf version="1.6"><model name="probe"><link name="sled"><inertial>
<pose>0 0 0.02 0 0 0</pose><mass>10</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>
</inertial>{feet}</link></model></sdf>"""
