"""Requirements of a trial on a stack, such as topics, and messages about missing ones.

The wait ends before ``stack.start_timeout_s`` if a topic of the same type exists under another name
and no name was added for a while, or if roslaunch could not start a node.
"""

import dataclasses
import time
from typing import Any, Callable, Collection, Dict, List, Optional, Sequence, Tuple

import rosgraph
import rospy

from gz_testauto.base.truncation import join_truncated
from gz_testauto.spec.stack import StackNamesSpec

QUIET_SHARE = 0.25  # of ``stack.start_timeout_s``, after which no further new name is expected


def topics_of(kind: str) -> List[str]:
    """Return the topics of a message type that other nodes publish."""
    own_name = rospy.get_name()
    publishers = dict(rosgraph.Master(own_name).getSystemState()[0])
    return sorted(
        topic
        for topic, type_ in rospy.get_published_topics()
        if type_ == kind and {*publishers.get(topic, ())} - {own_name}
    )


def move_base_actions() -> List[str]:
    suffix = "/result"
    return [topic[: -len(suffix)] for topic in topics_of("move_base_msgs/MoveBaseActionResult")]


@dataclasses.dataclass(frozen=True)
class ActionNode:
    """The node that serves an action, with all topics and services that exist.

    Topics with only a subscriber exist, too, such as the obstacles of a planner.
    """

    name: str
    existing_names: Collection[str]

    @classmethod
    def of(cls, action: str) -> Optional["ActionNode"]:
        publishers, subscribers, services = rosgraph.Master(rospy.get_name()).getSystemState()
        nodes = dict(publishers).get(f"{action}/result", [])
        names = [name for name, _ in (*publishers, *subscribers, *services)]
        return cls(nodes[0], names) if nodes else None

    def corrected_names(self, names: StackNamesSpec) -> Dict[str, Any]:
        """Return corrections of ``names`` by key. Names in the namespace of the action are replaced
        by existing names in the namespace of this node.

        A move_base has its topics in the namespace of its node, whose name can differ from that of
        its action. A list also contains the names of this node with the same last part, such as the
        plans of a planner that is not in ``names``.
        """
        if self.name == names.action:
            return {}
        corrected: Dict[str, Any] = {}
        for key, value in names.model_dump().items():
            new_names = [
                self.name + name[len(names.action) :]
                for name in (value if isinstance(value, list) else [value])
                if isinstance(name, str) and name.startswith(f"{names.action}/")
            ]
            if isinstance(value, list):
                new_names += self._further_names(new_names)
            existing = [name for name in new_names if name in self.existing_names]
            if existing:
                corrected[key] = existing if isinstance(value, list) else existing[0]
        return corrected

    def _further_names(self, names: Sequence[str]) -> List[str]:
        last_parts = {name.rpartition("/")[2] for name in names}
        return sorted(
            name
            for name in {*self.existing_names} - {*names}
            if name.startswith(f"{self.name}/") and name.rpartition("/")[2] in last_parts
        )


@dataclasses.dataclass(frozen=True)
class Requirement:
    """A condition that must hold before a trial can start.

    ``missing`` and ``remedy`` are the parts of the error message. If the condition requires a
    topic, model or frame to exist, ``name`` is its name, ``kind`` a noun for the existing ones, and
    ``existing`` returns their names.
    """

    condition: Callable[[], bool]
    missing: str
    remedy: str
    kind: str = ""
    name: str = ""
    existing: Callable[[], Sequence[str]] = list

    def message(self) -> str:
        names = [name for name in self.existing() if name != self.name]
        name_list = f"; {self.kind}: {join_truncated(names) or 'none'}" if self.kind else ""
        return f"{self.missing}{name_list}; {self.remedy}"


def required_topic(
    is_received: Callable[[], bool], name: str, kind: str, remedy: str
) -> Requirement:
    return Requirement(
        is_received,
        f"no message on {name}",
        remedy,
        kind=f"other topics of {kind}",
        name=name,
        existing=lambda: topics_of(kind),
    )


class RequirementTimeout:
    """The timeout of one requirement, from the creation of the object."""

    def __init__(self, requirement: Requirement, timeout_s: float) -> None:
        self.requirement = requirement
        self._began_s = self._changed_s = time.monotonic()
        self._timeout_s = timeout_s
        self._existing: Tuple[str, ...] = ()

    @property
    def waited_s(self) -> float:
        return time.monotonic() - self._began_s

    def has_expired(self, cannot_start: bool) -> bool:
        """Return whether the wait must end. ``cannot_start`` is True if roslaunch could not start a
        node."""
        existing = tuple(self.requirement.existing())
        if existing != self._existing:
            self._existing, self._changed_s = existing, time.monotonic()
        quiet = time.monotonic() - self._changed_s > QUIET_SHARE * self._timeout_s
        is_late = self.waited_s > self._timeout_s
        return is_late or (quiet and (self.is_under_another_name or cannot_start))

    @property
    def is_under_another_name(self) -> bool:
        """True if only other names of the same type existed at the last check."""
        return bool(self._existing) and self.requirement.name not in self._existing
