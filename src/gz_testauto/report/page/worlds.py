"""What the page shows of each world: obstacles, start, goal, and every planner's drive.

Owns what becomes of damage: what cannot be read is named in one line, once, and left out.
"""

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.pose import Pose2D
from gz_testauto.campaign.resume import find_world, read_campaign
from gz_testauto.metrics.recording import Recording
from gz_testauto.metrics.traffic.among_movers import surface_of
from gz_testauto.report.page.drives import thinned_drive
from gz_testauto.report.page.outlines import ShapeTable
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.records import TrialRecord
from gz_testauto.results.store import ResultStore
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.missions import Missions
from gz_testauto.trial.clearance import footprint_at
from gz_testauto.trial.setup import PreparedBuiltin, PreparedCampaign, prepare, read_body
from gz_testauto.worlds.record import WorldRecord

SHOWN_CONTACTS = 5
"""Collisions of one drive that are drawn; the first is what ends most."""

Outlines = Dict[str, BaseGeometry]


@dataclass
class Surroundings:
    """What is known of a campaign beside its results: None where it cannot be read, and then a
    line of ``problems`` says why."""

    directory: CampaignDirectory
    spec: Optional[CampaignSpec] = None
    missions: Optional[Missions] = None
    campaign: Optional[PreparedCampaign] = None
    problems: List[str] = field(default_factory=list)
    _wayless: bool = False

    @classmethod
    def of(
        cls, directory: CampaignDirectory, worlds: Sequence[WorldRecord], imported: bool
    ) -> "Surroundings":
        """Read the campaign and its robot. Results that were imported have none."""
        found = cls(directory)
        if imported:
            return found
        try:
            found.spec, found.missions = read_campaign(directory)
            robot = read_body(found.spec)
            found.campaign = prepare(found.spec, robot, tuple(worlds), found.missions)
        except (GzTestautoError, TypeError) as error:
            found.problems.append(f"worlds are drawn without obstacles and robot: {error}")
        return found

    @property
    def footprint_m(self) -> Optional[np.ndarray]:
        """The robot's outline, shape (n, 2), in the base frame."""
        return None if self.campaign is None else np.asarray(self.campaign.limits.footprint_m)

    def known_way(self, world: WorldRecord) -> List[List[float]]:
        """The way-points (m) that this package's planners follow on the known map; none for a
        stack, which has its own, and where every world has a map of its own, which takes long."""
        if not isinstance(self.campaign, PreparedBuiltin) or self._wayless:
            return []
        if self.campaign.spec.worlds.base is None:
            return []
        try:
            ways = self.campaign.known_map.ways(world)
            return np.concatenate(ways).round(2).tolist()  # type: ignore[no-any-return]
        except GzTestautoError as error:
            self._wayless = True
            self.problems.append(f"the way on the known map is not drawn: {error}")
            return []

    def lanes(self, world: WorldRecord) -> List[np.ndarray]:
        """The lanes of a world's road, x, y and width (m), (k, 3) each."""
        if self.campaign is None:
            return []
        lanes = self.campaign.known_map.lanes(world)
        return [np.column_stack([lane.center_m, lane.width_m]) for lane in lanes]

    def outlines(self, world: WorldRecord) -> Outlines:
        """Outlines of a world's obstacles as its file places them, by name."""
        if self.campaign is None:
            return {}
        try:
            return self.campaign.obstacles(find_world(world, self.directory)).outlines()
        except GzTestautoError as error:
            self.problems.append(f"{world.name} is drawn without obstacles: {error}")
            return {}


class WorldsDrawer:
    """What the page draws of each world. Remembers what it has read: a trial that has ended stays
    as it is, and a live page asks again and again."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._table = ShapeTable()
        self._drives: Dict[Tuple[int, str], Dict[str, Any]] = {}
        self._worlds: Dict[str, Dict[str, Any]] = {}

    @property
    def shapes(self) -> List[Dict[str, Any]]:
        """The shapes of all worlds that were drawn."""
        return self._table.shapes

    def draw(
        self, store: ResultStore, worlds: Sequence[WorldRecord], trials: Sequence[TrialRecord]
    ) -> List[Dict[str, Any]]:
        """What is drawn of each world, in order."""
        by_world: Dict[str, List[TrialRecord]] = {}
        for record in trials:
            by_world.setdefault(record.world, []).append(record)
        drawn = []
        for world in worlds:
            drives = self._of_world(store, world, by_world.get(world.name, ()))
            drawn.append({**self._worlds[world.name], "trials": drives})
        return drawn

    def _of_world(
        self, store: ResultStore, world: WorldRecord, trials: Sequence[TrialRecord]
    ) -> List[Dict[str, Any]]:
        new = [r for r in trials if (r.trial, r.finished_at) not in self._drives]
        outlines: Outlines = {}
        if new or world.name not in self._worlds:
            outlines = self._surroundings.outlines(world)
        if world.name not in self._worlds:
            data: Dict[str, Any] = {"placed": self._table.place(outlines.values())}
            data.update(_ends(self._surroundings, world))
            lanes = self._surroundings.lanes(world)
            if lanes:
                data["lanes"] = self._table.place(map(surface_of, lanes))
            known = self._surroundings.known_way(world)
            self._worlds[world.name] = {**data, "known": known} if known else data
        for record in new:
            drive = _trial(store, self._surroundings, outlines, record)
            self._drives[record.trial, record.finished_at] = drive
        return [dict(self._drives[record.trial, record.finished_at]) for record in trials]


def _ends(surroundings: Surroundings, world: WorldRecord) -> Dict[str, Any]:
    """Start and goals of a world, in meters."""
    spec, missions = surroundings.spec, surroundings.missions
    if spec is None or missions is None:
        return {}
    start, goals = missions.start_in(world.name), missions.goals_in(world.name)
    return {
        "start": [start.x_m, start.y_m, start.yaw_rad],
        "goals": [[goal.x_m, goal.y_m, spec.goal.tolerance_m] for goal in goals],
    }


def _trial(
    store: ResultStore, surroundings: Surroundings, outlines: Outlines, record: TrialRecord
) -> Dict[str, Any]:
    """One drive; of one that is invalid, or whose recording is missing or damaged, only which."""
    data: Dict[str, Any] = {"trial": record.trial}
    if not record.trajectory:
        return data
    try:
        recording = store.trajectory(record)
    except GzTestautoError as error:
        surroundings.problems.append(str(error))
        return {**data, "problem": escape_text(str(error))}
    data.update(thinned_drive(recording))
    data["contacts"] = [
        [
            round(1000 * episode.start_s),
            escape_text(episode.partner),
            episode.speed_mps,
            *_touched(surroundings.footprint_m, recording, outlines, episode),
        ]
        for episode in recording.contacts[:SHOWN_CONTACTS]
    ]
    return data


def _touched(
    footprint_m: Optional[np.ndarray], recording: Recording, outlines: Outlines, episode: Any
) -> List[float]:
    """Where robot and partner meet at first touch, x and y (m): the middle of what they share,
    or the point of the robot's outline nearest to the partner as the world's file places it."""
    at = min(int(np.searchsorted(recording.time_s, episode.start_s)), len(recording.pose) - 1)
    pose = recording.pose[at]
    point = shapely.Point(pose[:2])
    partner = outlines.get(episode.partner)
    if footprint_m is not None and partner is not None and not partner.is_empty:
        body = footprint_at(footprint_m, Pose2D(*pose))
        shared = body.intersection(partner)
        point = (
            shapely.Point(shapely.get_coordinates(shapely.shortest_line(body, partner))[0])
            if shared.is_empty
            else shared.centroid
        )
    return [round(float(point.x), 3), round(float(point.y), 3)]
