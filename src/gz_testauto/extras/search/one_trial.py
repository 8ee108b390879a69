"""A campaign of one trial: the file and the picture that shrinking writes."""

import os
import re
from pathlib import Path
from typing import Any, Dict, Tuple, TypeVar

import numpy as np
import shapely
import yaml

from gz_testauto.base.disk import read_input
from gz_testauto.base.errors import MissingDependencyError, ResultsError
from gz_testauto.base.pose import Pose2D
from gz_testauto.base.resources import PACKAGE, share_directory
from gz_testauto.extras.search.shrink import Candidate, FailedTrial
from gz_testauto.results.directory import write_atomically
from gz_testauto.sdf.document import SdfDocument
from gz_testauto.sdf.floor import obstructing_heights
from gz_testauto.sdf.scene import read_scene
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.worlds import RandomNumbers
from gz_testauto.trial.clearance import ObstacleField, footprint_at
from gz_testauto.trial.testbed import REMOVABLE
from gz_testauto.trial.trial import Trial
from gz_testauto.worlds.static_map import Bounds

WORLD, CAMPAIGN, PICTURE = "shrunk.world", "campaign.yaml", "before_and_after.png"

_KEPT = ("obstacle_names", "plugins", "allow_missing")


AnySpec = TypeVar("AnySpec", bound=CampaignSpec)


def one_trial_spec(spec: AnySpec, trial: Trial, bounds: Bounds, directory: Path) -> AnySpec:
    # The bounds keep the static map, and with it the waypoints, when obstacles are removed.
    worlds = {key: getattr(spec.worlds, key) for key in _KEPT}
    data = {
        **spec.model_dump(mode="json"),
        "planners": [trial.planner.model_dump(mode="json")],
        "repetitions": 1,
        "stop": None,
        "worlds": {"directory": str(directory), "files": [WORLD], **worlds},
    }
    *_, goal = trial.mission.goals
    if spec.worlds.setter_of("sets_start"):
        data["robot"]["start"] = trial.mission.start._asdict()
    if spec.worlds.setter_of("sets_goal"):
        data["goal"] = {**data["goal"], **goal._asdict()}
    data["global_plan"] = {**data["global_plan"], "bounds_m": list(bounds)}
    return type(spec).model_validate(data)


def write_campaign(
    spec: CampaignSpec,
    candidate: Candidate,
    numbers: RandomNumbers,
    directory: Path,
    repeats: int = 1,
) -> None:
    """Write the campaign of a candidate, whose world is in ``directory``. Recorded tracks and
    localization errors are copied there, so that all remain together. Raises ``ResultsError``."""
    data: Dict[str, Any] = spec.model_dump(mode="json", exclude_defaults=True)
    for key in REMOVABLE:
        entries = [entry for entry in data.get(key, ()) if entry["name"] not in candidate.without]
        data[key] = entries
        if not entries:
            del data[key]
    *via, goal = (pose._asdict() for pose in candidate.goals)
    entry: Dict[str, Any] = {
        "file": WORLD,
        "start": candidate.start._asdict(),
        "goal": goal,
        "random_numbers": numbers.model_dump(),
    }
    if via:
        entry["via"] = via
    files = [entry]
    if repeats > 1:
        files = [{**entry, "name": f"repeat_{number:02d}"} for number in range(repeats)]
    data["worlds"] = {**data["worlds"], "directory": ".", "files": files}
    names = spec.worlds.obstacle_names
    if names is not None and not any(re.fullmatch(names, name) for name in candidate.kept):
        del data["worlds"]["obstacle_names"]
    _copy_recordings(data, directory)
    text: str = yaml.safe_dump(_portable(data), sort_keys=False, allow_unicode=True)
    write_atomically(directory / CAMPAIGN, text.encode("utf-8"))


def _copy_recordings(data: Dict[str, Any], directory: Path) -> None:
    users = [(data.get("localization", {}), "errors")]
    users += [(actor, "tracks") for actor in data.get("actors", ())]
    sources: Dict[str, str] = {}
    for user, key in users:
        if key in user:
            source = Path(user[key])
            name = source.name
            if sources.setdefault(name, user[key]) != user[key]:
                name = f"{user['name']}_{name}"
            write_atomically(directory / name, read_input(source, ResultsError))
            user[key] = name


def _portable(value: Any) -> Any:
    """Replace paths of this package's files by ``package://`` URIs."""
    if isinstance(value, dict):
        return {key: _portable(element) for key, element in value.items()}
    if isinstance(value, list):
        return [_portable(element) for element in value]
    share = share_directory()
    if isinstance(value, str) and value.startswith(f"{share}{os.sep}"):
        return f"package://{PACKAGE}/{Path(value).relative_to(share).as_posix()}"
    return value


def draw(
    trials: Dict[str, Tuple[Candidate, bytes, FailedTrial]],
    footprint_m: np.ndarray,
    height_m: Tuple[float, float],
    path: Path,
) -> None:
    """Draw each trial with its world file into a PNG file, if matplotlib is installed."""
    try:
        from gz_testauto.report.plots import figure_class, save_figure

        figure = figure_class()(figsize=(10.0, 5.0), layout="constrained")
    except MissingDependencyError:
        return
    heights = obstructing_heights(height_m)
    for number, (name, (candidate, world, trial)) in enumerate(trials.items(), 1):
        axes = figure.add_subplot(1, len(trials), number)
        scene = read_scene(SdfDocument.parse(world))
        outlines = ObstacleField(scene, heights).outlines().values()
        polygons = [
            polygon
            for polygon in shapely.get_parts(list(outlines))
            if polygon.geom_type == "Polygon"
        ]
        # Polygons with holes first, since a white hole would cover a polygon inside it.
        for outline in sorted(polygons, key=lambda polygon: -len(polygon.interiors)):
            axes.fill(*np.asarray(outline.exterior.coords).T, color="0.45")
            for hole in outline.interiors:
                axes.fill(*np.asarray(hole.coords).T, color="white")
        poses = trial.recording.pose
        axes.plot(poses[:, 0], poses[:, 1], color="#0072b2")
        end = footprint_at(footprint_m, Pose2D(*map(float, poses[-1])))
        axes.plot(*np.asarray(end.exterior.coords).T, color="#0072b2")
        axes.plot(*poses[-1, :2], "x", color="#d55e00")
        axes.plot(candidate.start.x_m, candidate.start.y_m, "o", color="0.2")
        for goal in candidate.goals:
            axes.plot(goal.x_m, goal.y_m, "*", color="0.2")
        axes.set_aspect("equal")
        axes.set_title(f"{name}: {len(candidate.kept)} obstacles, {trial.outcome.value}")
        axes.set_xlabel("x (m)")
        axes.set_ylabel("y (m)")
    save_figure(figure, path, 100)
