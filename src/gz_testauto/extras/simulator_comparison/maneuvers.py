"""Maneuvers, the same in every simulator: specification, commands and starting poses.

A robot starts near the center of the terrain, heading along x.
"""

import math
from typing import Any, Dict, List, NamedTuple, Optional

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import Self

from gz_testauto.base.errors import SpecError
from gz_testauto.base.pose import Pose, Pose2D
from gz_testauto.base.registry import unknown_name
from gz_testauto.extras.simulator_comparison.recordings.recording import Series
from gz_testauto.extras.simulator_comparison.terrain import Terrain
from gz_testauto.sampling.seeds import child_generator
from gz_testauto.sdf.robot import RobotBody
from gz_testauto.simulators.interface import NamedModel
from gz_testauto.spec.model import Spec, SpecPath
from gz_testauto.spec.stack import NAME

PERIOD_S = 0.05  # control period, the same in every simulator

STOP_AT = 0.5  # share of the duration after which ``stop`` brakes

START = "start"

JITTER_M, JITTER_RAD = 0.1, 0.05  # half widths of the uniform distributions of starting poses

GAP_M = 0.5  # gap between the paths of robots in parallel lanes

SPAWN_GAP_M = 0.002  # height above the highest point of the ground below the footprint

GROUND_SAMPLES = 25  # number of samples along each side of the footprint's bounding box

BOX = "box"
BOX_KG, BOX_SIDE_M = 5.0, 0.4
BOX_AHEAD_M = 0.5  # initial distance of the box from the footprint

STEP = "step"
PUSH = "push"
FLAT = "flat"


class ManeuverKind(NamedTuple):
    """Default duration and speeds of a kind of maneuver."""

    duration_s: float
    linear_mps: float
    angular_radps: float


KINDS: Dict[str, ManeuverKind] = {
    "rest": ManeuverKind(30.0, 0.0, 0.0),
    "straight": ManeuverKind(8.0, 0.5, 0.0),
    "circle": ManeuverKind(8.0, 0.5, 0.5),
    "stop": ManeuverKind(6.0, 0.5, 0.0),
    "s_curve": ManeuverKind(8.0, 0.5, 0.5),
    STEP: ManeuverKind(8.0, 0.25, 0.0),
    "turn": ManeuverKind(6.0, 0.0, 0.5),
    PUSH: ManeuverKind(8.0, 0.4, 0.0),
}
"""Kinds of maneuver with their default values.

``straight`` and ``circle`` are those of Farley et al. 2022, which does not specify the forward
speed of the circle. ``rest`` is long enough that the density of white noise is accurate within 10 %
in 99.7 % of recordings. ``s_curve`` turns left and then right, as a sine.
"""

ORDINARY = tuple(kind for kind in KINDS if kind not in ("turn", PUSH))

RECORDED = "recorded"


class RecordedCommandSpec(Spec):
    """Source of recorded velocity commands: entry, case and repetition, counted from 0."""

    entry: str
    """Name of the entry whose recording has the commands."""
    case: str
    """Name of a case of this recording."""
    repetition: int = Field(0, ge=0)
    """Repetition of the case, counted from 0."""


class ManeuverSpec(Spec):
    """A maneuver: a prescribed series of velocity commands. The default of ``kind`` is ``name``,
    and other defaults are those of the kind. With ``command`` the velocity commands of a recording
    are used instead."""

    name: str = Field(pattern=NAME)
    """Name of the maneuver in reports."""
    kind: str = ""
    """Kind of maneuver, such as ``circle``; the default is ``name``."""
    duration_s: float = Field(0.0, ge=0, le=600)
    """Duration (s); the default depends on the kind."""
    linear_mps: float = Field(0.0, ge=-10, le=10)
    """Forward speed (m/s); the default depends on the kind."""
    angular_radps: float = Field(0.0, ge=-10, le=10)
    """Yaw rate (rad/s); the default depends on the kind."""
    command: Optional[RecordedCommandSpec] = None
    """Recorded velocity commands, which replace kind, duration and speeds."""

    @model_validator(mode="before")
    @classmethod
    def _add_defaults_of_kind(cls, data: Any) -> Any:
        if isinstance(data, str):
            data = {"name": data}
        if not isinstance(data, dict) or not isinstance(data.get("name"), str):
            return data
        if data.get("command") is not None:
            return {"kind": RECORDED, **data}
        kind = data.get("kind", data["name"])
        return {**KINDS[kind]._asdict(), "kind": kind, **data} if kind in KINDS else data

    def is_for(self, terrain: str) -> bool:
        return {STEP: terrain == STEP, PUSH: terrain == FLAT}.get(self.kind, True)

    @model_validator(mode="after")
    def _require_known_kind(self) -> Self:
        if (self.kind == RECORDED) != (self.command is not None):
            raise ValueError(
                f"maneuver {self.name}: the kind 'recorded' requires the key 'command', and "
                "'command' requires this kind"
            )
        if self.kind != RECORDED and self.kind not in KINDS:
            reason = unknown_name("kind of maneuver", self.kind or self.name, KINDS)
            raise ValueError(f"{reason}. For a maneuver with another name, use the key 'kind'")
        return self


class BenchRobotSpec(Spec):
    """The robot of a comparison of simulators, with the limits of its base."""

    model: SpecPath
    """SDF file or model directory of the robot."""
    lidar: Optional[str] = Field(None, min_length=1)
    """Name of the ray sensor that is simulated. It is required if the model has several ray sensors
    with a single row."""
    name: str = Field("robot", pattern=NAME)
    """Name of the robot in the simulators."""
    max_linear_mps: float = Field(1.0, gt=0)
    """Highest forward speed (m/s)."""
    max_angular_radps: float = Field(1.5, gt=0)
    """Highest yaw rate (rad/s)."""
    max_linear_accel_mps2: float = Field(1.0, gt=0)
    """Highest forward acceleration (m/s²)."""
    max_angular_accel_radps2: float = Field(3.0, gt=0)
    """Highest yaw acceleration (rad/s²)."""


def compute_commands(maneuver: ManeuverSpec, robot: BenchRobotSpec) -> np.ndarray:
    """Return forward speeds (m/s) and yaw rates (rad/s), (n, 2), one row per :data:`PERIOD_S`.
    Raises ``SpecError`` if the maneuver is faster than the robot."""
    for name in ("linear_mps", "angular_radps"):
        speed, limit = getattr(maneuver, name), getattr(robot, f"max_{name}")
        if abs(speed) > limit:
            raise SpecError(
                f"maneuver {maneuver.name}: {name} is {speed:g}, but robot.max_{name} is "
                f"{limit:g}; reduce the value or increase the limit"
            )
    time_s = np.arange(max(1, round(maneuver.duration_s / PERIOD_S))) * PERIOD_S
    linear = np.full(len(time_s), maneuver.linear_mps)
    angular = np.full(len(time_s), maneuver.angular_radps)
    if maneuver.kind == "stop":
        linear[time_s >= STOP_AT * maneuver.duration_s - 1e-9] = 0.0
    elif maneuver.kind == "s_curve":
        angular *= np.sin(2.0 * math.pi * time_s / maneuver.duration_s)
    return np.column_stack(
        [
            _limit_acceleration(linear, robot.max_linear_accel_mps2),
            _limit_acceleration(angular, robot.max_angular_accel_radps2),
        ]
    )


def recorded_commands(command: Series) -> np.ndarray:
    """Return recorded velocity commands (n, 2) with one row per :data:`PERIOD_S`. Each command is
    held until the next. Rows before the first command are 0."""
    count = max(1, math.ceil((command.time_s[-1] + PERIOD_S) / PERIOD_S - 1e-9))
    latest = np.searchsorted(command.time_s, np.arange(count) * PERIOD_S + 1e-9, side="right") - 1
    return np.where((latest >= 0)[:, None], command.values[latest], 0.0)


def _limit_acceleration(desired: np.ndarray, acceleration: float) -> np.ndarray:
    """Return speeds (n,), one per :data:`PERIOD_S`, that start at 0 and approach ``desired`` (n,).

    ``acceleration`` (m/s² or rad/s²) limits their changes.
    """
    max_change = acceleration * PERIOD_S
    speed, limited = 0.0, np.empty(len(desired))
    for row, target in enumerate(desired.tolist()):
        speed += min(max_change, max(-max_change, target - speed))
        limited[row] = speed
    return limited


def ideal_path(commands: np.ndarray) -> np.ndarray:
    """Return the poses (n + 1, 3) of an ideal robot, x, y (m) and yaw (rad), from the origin."""
    yaw = np.concatenate([[0.0], np.cumsum(commands[:, 1]) * PERIOD_S])
    middle = (yaw[1:] + yaw[:-1]) / 2
    ahead = commands[:, 0] * PERIOD_S
    x = np.concatenate([[0.0], np.cumsum(ahead * np.cos(middle))])
    y = np.concatenate([[0.0], np.cumsum(ahead * np.sin(middle))])
    return np.column_stack([x, y, yaw])


def draw_start(case: str, repetition: int, seed: int) -> Pose2D:
    random = child_generator(seed, START, case, repetition)
    x_m, y_m = random.uniform(-JITTER_M, JITTER_M, 2).tolist()
    return Pose2D(x_m, y_m, float(random.uniform(-JITTER_RAD, JITTER_RAD)))


def require_space(case: str, commands: np.ndarray, robot: RobotBody, terrain: Terrain) -> None:
    """Raise ``SpecError`` if an ideal robot would leave the terrain."""
    path = ideal_path(commands)[:, :2]
    farthest = float(np.abs(path).max()) + _radius_m(robot) + JITTER_M
    farthest += JITTER_RAD * float(np.hypot(*path.T).max())
    _require_size(case, terrain, 2 * farthest)


def parallel_starts(
    count: int, case: str, commands: np.ndarray, robot: RobotBody, terrain: Terrain
) -> List[Pose2D]:
    path = ideal_path(commands)
    lane_m = float(np.ptp(path[:, 1])) + 2 * _radius_m(robot) + GAP_M
    ahead_m = float(np.abs(path[:, 0]).max()) + _radius_m(robot)
    _require_size(case, terrain, max(count * lane_m, 2 * ahead_m))
    middle_m = float(path[:, 1].min() + path[:, 1].max()) / 2
    return [Pose2D(0.0, (lane - (count - 1) / 2) * lane_m - middle_m, 0.0) for lane in range(count)]


def spawn_height_m(terrain: Terrain, robot: RobotBody, start: Pose2D) -> float:
    """Return the height of the highest ground below the footprint plus :data:`SPAWN_GAP_M`."""
    outline = np.asarray(robot.footprint_m)
    sides = [
        np.linspace(*ends, GROUND_SAMPLES) for ends in zip(outline.min(axis=0), outline.max(axis=0))
    ]
    points = start.apply(np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2))
    return float(np.max(terrain.height_m(points[:, 0], points[:, 1]))) + SPAWN_GAP_M


def _radius_m(robot: RobotBody) -> float:
    return float(np.hypot(*np.asarray(robot.footprint_m).T).max())


def _require_size(case: str, terrain: Terrain, needed_m: float) -> None:
    if needed_m > terrain.size_m:
        raise SpecError(
            f"{case}: the maneuver needs {needed_m:.1f} m of ground, but terrain {terrain.name} is "
            f"{terrain.size_m:g} m wide; increase its size_m, or reduce the duration"
        )


_BOX_INERTIA_KGM2 = BOX_KG * BOX_SIDE_M**2 / 6
_BOX_SDF = f"""<sdf version="1.6"><model name="{BOX}"><link name="link">
<inertial><mass>{BOX_KG}</mass><inertia><ixx>{_BOX_INERTIA_KGM2}</ixx><iyy>{_BOX_INERTIA_KGM2}</iyy>
<izz>{_BOX_INERTIA_KGM2}</izz></inertia></inertial>
<collision name="collision"><geometry><box><size>{BOX_SIDE_M} {BOX_SIDE_M} {BOX_SIDE_M}</size></box>
</geometry><surface><friction><ode><mu>0.5</mu><mu2>0.5</mu2></ode></friction></surface></collision>
</link></model></sdf>"""


def create_box(robot: RobotBody, start: Pose2D) -> NamedModel:
    front_m = max(x for x, _ in robot.footprint_m)
    middle = Pose((front_m + BOX_AHEAD_M + BOX_SIDE_M / 2, 0.0, BOX_SIDE_M / 2))
    return NamedModel(BOX, _BOX_SDF, start.to_pose() * middle)
