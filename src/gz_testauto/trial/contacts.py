"""Group the robot's contacts with obstacles into collisions.

Geometry, not names, distinguishes ground and obstacles.
"""

from dataclasses import replace
from typing import Dict, Iterable, List, Optional, Tuple

from gz_testauto.base.observation import Contact
from gz_testauto.metrics.recording import ContactEpisode

EPISODE_GAP_S = 0.5  # longest time between two contacts of one collision

GROUND_NORMAL_Z = 0.9  # smallest |z| of the normal of a contact with the ground: a slope of 25°

# Largest height of a contact with the ground above the lowest point of the level robot. On a slope
# of 6°, the upper wheel of a robot 0.5 m wide is 5 cm above that point.
GROUND_HEIGHT_M = 0.05

_IGNORE = ""


class ContactClassifier:
    """A classifier of contacts for one robot in one world.

    ``ground_shapes`` are the scoped names (``MODEL::LINK::SHAPE``) of the ground's collision
    shapes. ``models`` are all model names; only those that contain ``::`` are needed.
    """

    def __init__(
        self, robot: str, ground_shapes: Iterable[str], models: Iterable[str] = ()
    ) -> None:
        self._robot = robot
        self._ground_shapes = frozenset(ground_shapes)
        self._scoped_names = sorted(
            (name for name in models if "::" in name), key=len, reverse=True
        )
        self._partners: Dict[Tuple[str, str], str] = {}

    def partner(self, contact: Contact, robot_bottom_m: float) -> Optional[str]:
        """Return the name of the model that the robot hits; None if the contact is no collision.

        ``robot_bottom_m`` is the z (m, world frame) of the robot's lowest point.
        """
        pair = (contact.first, contact.second)
        partner = self._partners.get(pair)
        if partner is None:
            partner = self._partners[pair] = self._find_partner(*pair)
        if partner == _IGNORE or _supports_robot(contact, robot_bottom_m):
            return None
        return partner

    def _find_partner(self, first_shape: str, second_shape: str) -> str:
        """Return the name of the model that the robot touches. Return ``_IGNORE`` for the ground,
        and unless exactly one shape belongs to the robot."""
        models = self._model_of(first_shape), self._model_of(second_shape)
        is_robot = models[0] == self._robot, models[1] == self._robot
        if is_robot[0] == is_robot[1]:  # both shapes belong to the robot, or neither does
            return _IGNORE
        partner = second_shape if is_robot[0] else first_shape
        return _IGNORE if partner in self._ground_shapes else models[is_robot[0]]

    def _model_of(self, shape: str) -> str:
        model_names = (name for name in self._scoped_names if shape.startswith(f"{name}::"))
        return next(model_names, shape.split("::", 1)[0])


def _supports_robot(contact: Contact, robot_bottom_m: float) -> bool:
    if not contact.normals or len(contact.normals) != len(contact.positions_m):
        return False
    return all(
        abs(normal[2]) >= GROUND_NORMAL_Z and position[2] <= robot_bottom_m + GROUND_HEIGHT_M
        for normal, position in zip(contact.normals, contact.positions_m)
    )


class EpisodeLog:
    """A log that groups contacts, which are added in order of time, into collisions.

    Contacts have two sources, the simulator and an overlap of outlines, since either alone can miss
    a collision.
    """

    def __init__(self) -> None:
        self._episodes: List[ContactEpisode] = []
        self._open_rows: Dict[str, int] = {}

    def touch(self, time_s: float, partner: str, speed_mps: float, source: str) -> None:
        """Extend the last episode with the model ``partner``. If it ended more than
        :data:`EPISODE_GAP_S` ago, or if there is none, begin a new episode."""
        index = self._open_rows.get(partner)
        if index is not None:
            episode = self._episodes[index]
            if time_s - episode.end_s <= EPISODE_GAP_S:
                self._episodes[index] = replace(episode, end_s=max(time_s, episode.end_s))
                return
        self._open_rows[partner] = len(self._episodes)
        self._episodes.append(ContactEpisode(time_s, time_s, partner, speed_mps, source))

    @property
    def first(self) -> Optional[ContactEpisode]:
        return self._episodes[0] if self._episodes else None

    @property
    def episodes(self) -> Tuple[ContactEpisode, ...]:
        return tuple(self._episodes)
