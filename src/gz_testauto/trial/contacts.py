"""Collisions: contacts with obstacles, grouped into episodes.

Ground, robot and obstacles are distinguished by geometry, not by name. Contacts of the simulator
and overlaps of footprint and obstacle form the same episodes, since either can miss a collision.
"""

from typing import Dict, Iterable, List, Optional, Tuple

from gz_testauto.base.observation import Contact
from gz_testauto.metrics.recording import ContactEpisode

EPISODE_GAP_S = 0.5
"""Contacts with a longer gap are two collisions."""

GROUND_NORMAL_Z = 0.9
"""A contact with a steeper surface (25° from level) is not ground."""

GROUND_HEIGHT_M = 0.05
"""A contact higher than this above the robot's lowest point is not with the ground.

It is larger than ``floor.GROUND_TOLERANCE_M``, which is for shapes at rest: the lowest point is
that of the level robot. On a slope of 6° the upper wheel of a robot 0.5 m wide is 5 cm above it."""

_IGNORE = ""


class ContactClassifier:
    """A classifier of contacts for one robot in one world.

    ``ground_shapes`` are the scoped names of collision shapes that are ground.
    """

    def __init__(self, robot: str, ground_shapes: Iterable[str]) -> None:
        self._robot_prefix = robot + "::"
        self._ground = frozenset(ground_shapes)
        self._partners: Dict[Tuple[str, str], str] = {}

    def partner(self, contact: Contact, robot_bottom_m: float) -> Optional[str]:
        """Return the model with which the robot collides, or None if the contact is not a
        collision.

        ``robot_bottom_m`` is the height (world frame) of the robot's lowest point.
        """
        pair = (contact.first, contact.second)
        partner = self._partners.get(pair)
        if partner is None:
            partner = self._partners[pair] = self._find_partner(*pair)
        if partner == _IGNORE or _is_support(contact, robot_bottom_m):
            return None
        return partner

    def _find_partner(self, first: str, second: str) -> str:
        ours = first.startswith(self._robot_prefix), second.startswith(self._robot_prefix)
        if ours[0] == ours[1]:  # both shapes are of the robot, or none is
            return _IGNORE
        other = second if ours[0] else first
        return _IGNORE if other in self._ground else other.split("::", 1)[0]


def _is_support(contact: Contact, robot_bottom_m: float) -> bool:
    """Return whether every point of the contact supports the robot from below."""
    if not contact.normals or len(contact.normals) != len(contact.positions_m):
        return False
    return all(
        abs(normal[2]) >= GROUND_NORMAL_Z and position[2] <= robot_bottom_m + GROUND_HEIGHT_M
        for normal, position in zip(contact.normals, contact.positions_m)
    )


class EpisodeLog:
    """A log that groups contacts, in order of time, into :class:`ContactEpisode`."""

    def __init__(self) -> None:
        self._episodes: List[ContactEpisode] = []
        self._open: Dict[str, int] = {}

    def touch(self, time_s: float, partner: str, speed_mps: float, source: str) -> None:
        """Record that the robot touches ``partner`` at ``time_s``."""
        index = self._open.get(partner)
        if index is not None:
            episode = self._episodes[index]
            if time_s - episode.end_s <= EPISODE_GAP_S:
                self._episodes[index] = ContactEpisode(
                    episode.start_s,
                    max(time_s, episode.end_s),
                    partner,
                    episode.speed_mps,
                    episode.source,
                )
                return
        self._open[partner] = len(self._episodes)
        self._episodes.append(ContactEpisode(time_s, time_s, partner, speed_mps, source))

    @property
    def first(self) -> Optional[ContactEpisode]:
        """Return the first collision so far, or None."""
        return self._episodes[0] if self._episodes else None

    @property
    def episodes(self) -> Tuple[ContactEpisode, ...]:
        """Return all collisions so far, in order of their start."""
        return tuple(self._episodes)
