"""Collect the data of each world for the page. Each damaged file is reported once and omitted."""

from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple

import numpy as np
import shapely
from shapely.geometry.base import BaseGeometry

from gz_testauto.base.errors import GzTestautoError
from gz_testauto.base.escaping import escape_text
from gz_testauto.base.pose import Pose2D
from gz_testauto.campaign.resume import find_world, open_for_reading, read_campaign
from gz_testauto.metrics.recording import Recording
from gz_testauto.metrics.traffic import surface_of
from gz_testauto.report.page.encoding import ShapeTable, thinned_trajectory
from gz_testauto.results.directory import CampaignDirectory
from gz_testauto.results.records import TrialRecord
from gz_testauto.spec.campaign import BuiltinCampaignSpec, CampaignSpec
from gz_testauto.trial.clearance import footprint_at
from gz_testauto.trial.plan import PreparedCampaign
from gz_testauto.worlds.record import WorldRecord
from gz_testauto.worlds.source import Missions

SHOWN_CONTACTS = 5  # drawn collisions per trial

Outlines = Dict[str, BaseGeometry]
ReadRecording = Callable[[TrialRecord], Recording]


@dataclass
class WorldContext:
    """The data with which the worlds of a campaign are drawn.

    Fields are None for imported results and for data that cannot be read. Each read error adds a
    line to ``problems``.
    """

    directory: CampaignDirectory
    spec: Optional[CampaignSpec] = None
    missions: Optional[Missions] = None
    campaign: Optional[PreparedCampaign] = None
    problems: List[str] = field(default_factory=list)
    _without_path: bool = False

    @classmethod
    def of(
        cls, directory: CampaignDirectory, worlds: Sequence[WorldRecord], imported: bool
    ) -> "WorldContext":
        context = cls(directory)
        if imported:
            return context
        try:
            context.spec, context.missions = read_campaign(directory)
            context.campaign = open_for_reading(directory, tuple(worlds))
        except (GzTestautoError, TypeError) as error:
            context.problems.append(f"worlds are drawn without obstacles and robot: {error}")
        return context

    @property
    def footprint_m(self) -> Optional[np.ndarray]:
        """The robot's outline (n, 2) in the base frame."""
        return None if self.campaign is None else np.asarray(self.campaign.bed.limits.footprint_m)

    def planned_path(self, world: WorldRecord) -> List[List[float]]:
        """Return the waypoints [x, y] (m, world frame) from the start to the last goal. They are
        empty for a navigation stack, for worlds with separate maps, and after an error, which is
        added to ``problems``."""
        if self.campaign is None or self._without_path:
            return []
        spec = self.campaign.spec
        # a stack plans its own path; with separate maps, planning would take too long
        if not isinstance(spec, BuiltinCampaignSpec) or spec.worlds.base is None:
            return []
        try:
            mission = self.campaign.missions.of(world.name)
            paths = self.campaign.bed.static_map.waypoints(world, mission)
            return np.concatenate(paths).round(2).tolist()  # type: ignore[no-any-return]
        except GzTestautoError as error:
            self._without_path = True
            self.problems.append(f"the path on the static map is not drawn: {error}")
            return []

    def lanes(self, world: WorldRecord) -> List[np.ndarray]:
        """Return the lanes of a world's road, each as x, y and width (m), shape (k, 3)."""
        if self.campaign is None:
            return []
        mission = self.campaign.missions.of(world.name)
        lanes = self.campaign.bed.static_map.lanes(mission)
        return [np.column_stack([lane.center_m, lane.width_m]) for lane in lanes]

    def outlines(self, world: WorldRecord) -> Outlines:
        if self.campaign is None:
            return {}
        try:
            return self.campaign.bed.obstacles(find_world(world, self.directory)).outlines()
        except GzTestautoError as error:
            self.problems.append(f"{world.name} is drawn without obstacles: {error}")
            return {}


class WorldsDrawer:
    """A collector of the drawn data of each world, which caches finished trials. At most
    ``most_drawn`` worlds are drawn, those with failures first."""

    def __init__(self, surroundings: WorldContext, most_drawn: Optional[int] = None) -> None:
        self._surroundings = surroundings
        self._most_drawn = most_drawn
        self._table = ShapeTable()
        self._trial_blocks: Dict[Tuple[int, str], Dict[str, Any]] = {}
        self._worlds: Dict[str, Dict[str, Any]] = {}

    @property
    def shapes(self) -> List[Dict[str, Any]]:
        return self._table.shapes

    def draw(
        self, read: ReadRecording, worlds: Sequence[WorldRecord], trials: Sequence[TrialRecord]
    ) -> List[Dict[str, Any]]:
        by_world: Dict[str, List[TrialRecord]] = {}
        for record in trials:
            by_world.setdefault(record.world, []).append(record)
        drawn_names = self._drawn_names(worlds, by_world)
        blocks = []
        for world in worlds:
            records = by_world.get(world.name, ())
            if world.name in drawn_names:
                trial_blocks = self._draw_world(read, world, records)
                blocks.append({**self._worlds[world.name], "trials": trial_blocks})
            else:
                numbers = [{"trial": record.trial} for record in records]
                blocks.append({"placed": [], "omitted": True, "trials": numbers})
        return blocks

    def _drawn_names(
        self, worlds: Sequence[WorldRecord], by_world: Mapping[str, Sequence[TrialRecord]]
    ) -> Set[str]:
        names = [world.name for world in worlds]
        if self._most_drawn is None or len(names) <= self._most_drawn:
            return set(names)

        def is_later(name: str) -> bool:
            records = by_world.get(name, ())
            return all(record.completed for record in records if record.outcome.valid)

        names.sort(key=is_later)
        return set(names[: self._most_drawn])

    def _draw_world(
        self, read_recording: ReadRecording, world: WorldRecord, trials: Sequence[TrialRecord]
    ) -> List[Dict[str, Any]]:
        new_trials = [r for r in trials if (r.trial, r.finished_at) not in self._trial_blocks]
        outlines: Outlines = {}
        if new_trials or world.name not in self._worlds:
            outlines = self._surroundings.outlines(world)
        if world.name not in self._worlds:
            data: Dict[str, Any] = {"placed": self._table.place(outlines.values())}
            data.update(_start_and_goals(self._surroundings, world))
            lanes = self._surroundings.lanes(world)
            if lanes:
                data["lanes"] = self._table.place(map(surface_of, lanes))
            planned_path = self._surroundings.planned_path(world)
            self._worlds[world.name] = {**data, "known": planned_path} if planned_path else data
        for record in new_trials:
            trial_block = _trial_block(read_recording, self._surroundings, outlines, record)
            self._trial_blocks[record.trial, record.finished_at] = trial_block
        return [dict(self._trial_blocks[record.trial, record.finished_at]) for record in trials]


def _start_and_goals(surroundings: WorldContext, world: WorldRecord) -> Dict[str, Any]:
    spec, missions = surroundings.spec, surroundings.missions
    if spec is None or missions is None:
        return {}
    mission = missions.of(world.name)
    start, goals = mission.start, mission.goals
    return {
        "start": [start.x_m, start.y_m, start.yaw_rad],
        "goals": [[goal.x_m, goal.y_m, spec.goal.tolerance_m] for goal in goals],
    }


def _trial_block(
    read_recording: ReadRecording,
    surroundings: WorldContext,
    outlines: Outlines,
    record: TrialRecord,
) -> Dict[str, Any]:
    data: Dict[str, Any] = {"trial": record.trial}
    if not record.trajectory:
        return data
    try:
        recording = read_recording(record)
    except GzTestautoError as error:
        surroundings.problems.append(str(error))
        return {**data, "problem": escape_text(str(error))}
    data.update(thinned_trajectory(recording))
    data["contacts"] = [
        [
            round(1000 * episode.start_s),
            escape_text(episode.partner),
            episode.speed_mps,
            *_contact_point(surroundings.footprint_m, recording, outlines, episode),
        ]
        for episode in recording.contacts[:SHOWN_CONTACTS]
    ]
    return data


def _contact_point(
    footprint_m: Optional[np.ndarray], recording: Recording, outlines: Outlines, episode: Any
) -> List[float]:
    """Return x and y (m, world frame) of the first contact of ``episode``: the centroid of the
    intersection of both outlines, or the nearest point of the robot's outline. Without outlines, it
    is the position of the robot."""
    sample = min(int(np.searchsorted(recording.time_s, episode.start_s)), len(recording.pose) - 1)
    pose = recording.pose[sample]
    point = shapely.Point(pose[:2])
    partner = outlines.get(episode.partner)
    if footprint_m is not None and partner is not None and not partner.is_empty:
        robot_outline = footprint_at(footprint_m, Pose2D(*pose))
        overlap = robot_outline.intersection(partner)
        point = (
            shapely.Point(shapely.get_coordinates(shapely.shortest_line(robot_outline, partner))[0])
            if overlap.is_empty
            else overlap.centroid
        )
    return [round(float(point.x), 3), round(float(point.y), 3)]
