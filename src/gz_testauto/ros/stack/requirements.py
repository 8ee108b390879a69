"""What is waited for when a stack starts, and what is said of that which does not come.

Owns when waiting is of no more use: at the latest after ``stack.start_timeout_s``, and sooner where
there is something of the kind under another name and nothing has been added to it for a while, or
where roslaunch could not start a node. What is missing is told with what is there instead.
"""

import dataclasses
import time
from typing import Callable, List, Sequence, Tuple

import rospy

from gz_testauto.base.truncation import join_truncated

QUIET_SHARE = 0.25
"""Part of ``stack.start_timeout_s`` in which nothing was added, after which nothing will be."""


def topics_of(kind: str) -> List[str]:
    """Topics of this type that somebody publishes."""
    return sorted(topic for topic, type_ in rospy.get_published_topics() if type_ == kind)


def move_base_actions() -> List[str]:
    """Where an action of move_base's type is served."""
    suffix = "/result"
    return [topic[: -len(suffix)] for topic in topics_of("move_base_msgs/MoveBaseActionResult")]


@dataclasses.dataclass(frozen=True)
class Awaited:
    """Something that is to come: ``name`` of ``kind``.

    ``there`` tells the names of what there is of the kind; ``missing`` is said where it did not
    come, ``remedy`` what to do then.
    """

    condition: Callable[[], bool]
    missing: str
    remedy: str
    kind: str = ""
    name: str = ""
    there: Callable[[], Sequence[str]] = list

    def message(self) -> str:
        """What is missing, what there is, and what to do."""
        others = [name for name in self.there() if name != self.name]
        found = f"; {self.kind}: {join_truncated(others) or 'none'}" if self.kind else ""
        return f"{self.missing}{found}; {self.remedy}"


def awaited_topic(heard: Callable[[], bool], name: str, kind: str, remedy: str) -> Awaited:
    """A first message on a topic."""
    return Awaited(
        heard,
        f"no message on {name}",
        remedy,
        kind=f"other topics of {kind}",
        name=name,
        there=lambda: topics_of(kind),
    )


class Patience:
    """How long one thing is still worth waiting for, from its making on."""

    def __init__(self, awaited: Awaited, timeout_s: float) -> None:
        self._awaited = awaited
        self._began_s = self._changed_s = time.monotonic()
        self._timeout_s = timeout_s
        self._there: Tuple[str, ...] = ()

    @property
    def waited_s(self) -> float:
        """Wall time since the beginning."""
        return time.monotonic() - self._began_s

    def is_over(self, will_not_come: bool) -> bool:
        """Whether to give up; ``will_not_come``: something could not be started at all."""
        there = tuple(self._awaited.there())
        if there != self._there:
            self._there, self._changed_s = there, time.monotonic()
        under_another_name = bool(there) and self._awaited.name not in there
        quiet = time.monotonic() - self._changed_s > QUIET_SHARE * self._timeout_s
        return self.waited_s > self._timeout_s or (quiet and (under_another_name or will_not_come))
