"""Actors for the ``<actor>`` elements of a world file.

In Gazebo, these actors have no collision shapes, and a ``ray`` lidar does not detect them. Here,
each is a cylinder with the size of a person, which follows the waypoints in straight lines, and
back if the path does not end at its start. Gazebo rounds the corners, and moves the actor to the
start immediately. Skins, animations and plug-ins are ignored.
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

SUFFIX = "_body"  # of the name of an actor's cylinder, since Gazebo also has the original actor

CLOSES_M = 0.05  # distance between the ends of a path that counts as a loop


class WorldActorSpec(ScriptSpec):
    """An actor of a world file (``<actor>``), which follows the timetable in the file."""

    @property
    def path(self) -> None:
        return None  # the path can cross obstacles, as in Gazebo


def world_actors(scene: WorldScene) -> Tuple[WorldActorSpec, ...]:
    world = scene.document.world
    elements = [] if world is None else world.findall("actor")
    return tuple(_read_actor(scene.document, element) for element in elements)


def notice_of(scene: WorldScene) -> str:
    names = [actor.name for actor in world_actors(scene)]
    if not names:
        return ""
    shown_names = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return (
        f"{len(names)} <actor> in {scene.document.source}: each is a cylinder of a person's "
        f"size on the same path ({shown_names}), which a lidar sees and the robot can touch"
    )


def _read_actor(document: SdfDocument, element: Element) -> WorldActorSpec:
    name = re.sub(r"\W", "_", element.get("name") or "actor")
    start = pose_value(document, element.find("pose"))
    values: Dict[str, Any] = {
        "name": f"{name}{SUFFIX}",
        "behavior": "script",
        "waypoints_m": [start.position[:2]],
        "yaw_rad": start.yaw_rad,
        "tags": ("person",),
    }
    script = element.find("script")
    if script is not None and flag(document, script, "auto_start", True):
        values["start_s"] = Fixed(value=max(0.0, number(document, script, "delay_start", 0.0)))
        times, points = _waypoints(document, script)
        if len(points) == 1:
            values["waypoints_m"] = points
        elif points:
            closes = float(np.hypot(*np.subtract(points[0], points[-1]))) <= CLOSES_M
            if not flag(document, script, "loop", True):
                values["repeat"] = "once"
            elif closes and len(points) > 3:
                values["repeat"], points = "loop", points[:-1]
            else:
                values["repeat"] = "back_and_forth"
            values.update(waypoints_m=points, times_s=times)
    return WorldActorSpec(**values)


def _waypoints(
    document: SdfDocument, script: Element
) -> Tuple[List[float], List[Tuple[float, float]]]:
    """Return the times (s) and positions (m) of an actor's trajectories, sorted by time."""
    positions: Dict[float, Tuple[float, float]] = {}
    for trajectory in script.findall("trajectory"):
        for waypoint in trajectory.findall("waypoint"):
            time_s = number(document, waypoint, "time", 0.0)
            if time_s < 0.0:
                raise SdfError(f"{document.where(waypoint)}: <time> must be at least 0")
            required(document, waypoint, "pose")
            x_m, y_m, _ = pose_value(document, waypoint.find("pose")).position
            positions.setdefault(time_s, (x_m, y_m))
    times = sorted(positions)
    if times and times[0] > 0.0:  # the actor waits there until its first waypoint is due
        positions[0.0] = positions[times[0]]
        times.insert(0, 0.0)
    return times, [positions[time_s] for time_s in times]
