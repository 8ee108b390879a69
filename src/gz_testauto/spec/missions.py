"""The start, the goals and the road of a robot in each world of a campaign.

Selects the values of a world (``worlds.files``, or the missions of a world source), or else those
of the campaign. Worlds are identified by their names in results.
"""

from typing import Dict, Optional, Sequence, Tuple

from gz_testauto.base.pose import Pose2D
from gz_testauto.spec.campaign import CampaignSpec
from gz_testauto.spec.model import PoseSpec
from gz_testauto.spec.road import RoadSpec
from gz_testauto.spec.robot import CompanionSpec
from gz_testauto.spec.worlds import WorldFileSpec


class Missions:
    """The missions of one robot. ``entries`` are the missions of single worlds, by default those of
    ``worlds.files``."""

    def __init__(
        self, spec: CampaignSpec, entries: Optional[Sequence[WorldFileSpec]] = None
    ) -> None:
        self._spec = spec
        files = spec.worlds.files if entries is None else entries
        self._entries: Dict[str, WorldFileSpec] = {}
        for entry in files or ():
            self._entries.setdefault(entry.world, entry)
        self._everywhere: Optional[Tuple[PoseSpec, PoseSpec]] = None

    def of_companion(self, companion: CompanionSpec) -> "Missions":
        """Return the missions of a further robot, which has the same start and goal in
        all worlds."""
        missions = Missions(self._spec, tuple(self._entries.values()))
        missions._everywhere = (companion.start, companion.goal)
        return missions

    def start_in(self, world: str) -> Pose2D:
        """Return the robot's start in a world."""
        if self._everywhere is not None:
            return self._everywhere[0].pose
        entry, start = self._entries.get(world), self._spec.robot.start
        start = start if entry is None else entry.start or start
        assert start is not None, "checked by the campaign, and known after the creation of worlds"
        return start.pose

    def goals_in(self, world: str) -> Tuple[Pose2D, ...]:
        """Return the robot's goals in a world, at least one, in the order in which it must reach
        them."""
        if self._everywhere is not None:
            return (self._everywhere[1].pose,)
        entry, goal = self._entries.get(world), self._spec.goal
        if entry is None or (entry.goal is None and not entry.via):
            return (*(before.pose for before in goal.via), goal.pose)
        return (*(before.pose for before in entry.via), (entry.goal or goal).pose)

    def road_in(self, world: str) -> Optional[RoadSpec]:
        """Return the road of a world."""
        entry = self._entries.get(world)
        return self._spec.road if entry is None or entry.road is None else entry.road
