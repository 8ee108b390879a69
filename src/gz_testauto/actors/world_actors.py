"""What an ``<actor>`` of a world's file becomes: a body that goes its way.

Gazebo draws actors and moves them, but gives them nothing to touch, and a ``ray`` lidar looks
through them. Here each is a person's cylinder that goes through its way-points at their times,
straight from one to the next (Gazebo rounds the corners), by the same script as an actor of the
campaign. One whose way does not end where it began goes back the way it came, where Gazebo has it
jump; one without a way stands. Skins, animations and plugins are left out.
"""

import re
from typing import Any, Dict, List, Tuple

import numpy as np

from gz_testauto.actors.script import ScriptSpec
from gz_testauto.base.errors import SdfError
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.scene import WorldScene
from gz_testauto.sdf.values import flag, number, pose_value, required
from gz_testauto.spec.distributions import Fixed

SUFFIX = "_body"
"""After the actor's name: both are there in a Gazebo of the user's own."""

CLOSES_M = 0.05
"""A way that ends so near its beginning goes around."""


class WorldActorSpec(ScriptSpec):
    """An actor of a world's file. It goes through what stands, as it does in Gazebo."""

    @property
    def path(self) -> None:
        """None that must be free."""
        return None


def world_actors(scene: WorldScene) -> Tuple[WorldActorSpec, ...]:
    """The actors of a world. Raises ``SdfError`` for way-points that cannot be read."""
    world = scene.document.world
    found = [] if world is None else world.findall("actor")
    return tuple(_read(scene.document, element) for element in found)


def notice_of(scene: WorldScene) -> str:
    """One line that says what a world's actors became; empty where it has none."""
    names = [actor.name for actor in world_actors(scene)]
    if not names:
        return ""
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return (
        f"{len(names)} <actor> in {scene.document.source}: a person's cylinder goes the way of "
        f"each ({shown}), which a lidar sees and the robot can touch"
    )


def _read(document: SdfDocument, element: Element) -> WorldActorSpec:
    name = re.sub(r"\W", "_", element.get("name") or "actor")
    start = pose_value(document, element.find("pose"))
    given: Dict[str, Any] = {
        "name": f"{name}{SUFFIX}",
        "behavior": "script",
        "waypoints_m": [start.position[:2]],
        "yaw_rad": start.yaw_rad,
        "tags": ("person",),
    }
    script = element.find("script")
    if script is not None and flag(document, script, "auto_start", True):
        given["start_s"] = Fixed(value=max(0.0, number(document, script, "delay_start", 0.0)))
        times, points = _way(document, script)
        if len(points) == 1:
            given["waypoints_m"] = points
        elif points:
            closes = float(np.hypot(*np.subtract(points[0], points[-1]))) <= CLOSES_M
            if not flag(document, script, "loop", True):
                given["repeat"] = "once"
            elif closes and len(points) > 3:
                given["repeat"], points = "around", points[:-1]
            else:
                given["repeat"] = "back"
            given.update(waypoints_m=points, times_s=times)
    return WorldActorSpec(**given)


def _way(document: SdfDocument, script: Element) -> Tuple[List[float], List[Tuple[float, float]]]:
    """The times (s) and places (m) of an actor's trajectories, in order of time."""
    found: Dict[float, Tuple[float, float]] = {}
    for trajectory in script.findall("trajectory"):
        for waypoint in trajectory.findall("waypoint"):
            time_s = number(document, waypoint, "time", 0.0)
            if time_s < 0.0:
                raise SdfError(f"{document.where(waypoint)}: <time> must be at least 0")
            required(document, waypoint, "pose")
            x_m, y_m, _ = pose_value(document, waypoint.find("pose")).position
            found.setdefault(time_s, (x_m, y_m))
    times = sorted(found)
    if times and times[0] > 0.0:  # it stands there until then
        found[0.0] = found[times[0]]
        times.insert(0, 0.0)
    return times, [found[time_s] for time_s in times]
