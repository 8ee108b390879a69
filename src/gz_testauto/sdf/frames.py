"""Resolve poses with the frame semantics of SDF 1.7, or with the defaults of older versions.

The ``relative_to`` attribute in worlds and models can name links, joints, frames, models,
``__model__`` and ``world``. Other names are rejected, also those that Gazebo 11 does not resolve:
scoped names (``inner::link``) and the name of an ``<include>`` in a model. As in Gazebo 11, the
``frame`` attribute is equivalent up to SDF 1.6 and ignored from 1.7 on.
"""

from typing import Dict, List, Optional, Set, Tuple

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.values import name_of, pose_value

MAX_STEPS = 200


class FrameGraph:
    """The named frames of a ``<model>`` or ``<world>`` element. Returned poses are in the frame of
    this element."""

    def __init__(self, document: SdfDocument, owner: Element) -> None:
        self._document = document
        self._attached_frames: Dict[str, Element] = {}
        self._root_names = ("world",) if owner.tag == "world" else ("__model__",)
        self._entries: Dict[str, Tuple[Optional[Element], str]] = {}
        self._nested_graphs: Dict[str, FrameGraph] = {}
        self._forbidden_names: Set[str] = set()
        self._poses: Dict[str, Pose] = {name: Pose() for name in (*self._root_names, "")}
        self._pending_names: List[str] = []
        for frame in owner.findall("frame"):
            base = frame.get("attached_to", "")
            self.add(name_of(document, frame), frame.find("pose"), base)
            self._attached_frames[name_of(document, frame)] = frame

    def add(
        self,
        name: str,
        pose: Optional[Element],
        base: str = "",
        nested_graph: "Optional[FrameGraph]" = None,
    ) -> None:
        """Add a frame, unless its name exists. Its ``<pose>`` is relative to ``base`` unless it
        names another frame. ``nested_graph`` contains the frames of a nested model."""
        # Links must be added before joints: before SDF 1.7, a joint can have the name of a link.
        self._entries.setdefault(name, (pose, base))
        if nested_graph is not None:
            self._nested_graphs.setdefault(name, nested_graph)

    def forbid(self, name: str) -> None:
        """Reject later poses relative to ``name``, the name of an ``<include>`` in a model."""
        self._forbidden_names.add(name)

    def add_fixed(self, name: str, pose: Pose, nested_graph: "FrameGraph") -> None:
        if name not in self._entries:
            self._entries[name] = (None, "")
            self._nested_graphs[name] = nested_graph
            self._poses[name] = pose

    def pose(self, name: str, location: str = "") -> Pose:
        """Return the pose of a frame. Raises ``SdfError`` for an unknown name or a cycle."""
        if name in self._poses:
            return self._poses[name]
        if name not in self._entries:
            return self._resolve_scoped(name, location)
        if name in self._pending_names:
            cycle = " → ".join([*self._pending_names, name])
            raise SdfError(
                f"{location}: poses are relative to each other in a cycle, {cycle}; specify one "
                "relative to another frame"
            )
        if len(self._pending_names) == MAX_STEPS:
            raise SdfError(
                f"{location}: the pose of {self._pending_names[0]!r} is relative to {name!r} "
                f"through more than {MAX_STEPS} frames; specify it relative to a nearer frame"
            )
        element, base = self._entries[name]
        if name in self._attached_frames:
            self._require_resolvable(base, self._document.where(self._attached_frames[name]))
        self._pending_names.append(name)
        try:
            self._poses[name] = self.of(element, base)
        finally:
            self._pending_names.pop()
        return self._poses[name]

    def of(self, element: Optional[Element], base: str = "") -> Pose:
        """Return the resolved pose of a ``<pose>``, which is relative to ``base`` unless it names
        another frame."""
        value = pose_value(self._document, element)
        location = self._document.source
        if element is not None:
            location = self._document.where(element)
            frame_name = relative_to(self._document, element)
            self._require_resolvable(frame_name, location)
            base = frame_name or base
        if base in self._poses and self._poses[base] == Pose():
            return value  # exact, without rounding of a product
        return self.pose(base, location) * value

    def _require_resolvable(self, name: str, location: str) -> None:
        if name in self._forbidden_names:
            raise SdfError(
                f"{location}: a pose is relative to {name!r}, an <include> in a model, whose name "
                "Gazebo 11 does not resolve; specify it relative to a <frame> with the same pose"
            )
        if "::" in name and name not in self._entries:
            raise SdfError(
                f"{location}: a pose is relative to {name!r}, and Gazebo 11 does not resolve such "
                f"scoped names; specify it relative to {name.split('::')[0]!r}, or to a <frame> "
                "in the same element"
            )

    def _resolve_scoped(self, name: str, location: str) -> Pose:
        outer, separator, inner = name.partition("::")
        if separator and outer in self._nested_graphs:
            return self.pose(outer, location) * self._nested_graphs[outer].pose(inner, location)
        known_names = ", ".join(sorted([*self._entries, self._root_names[0]]))
        raise SdfError(
            f"{location}: a pose is relative to {name!r}, which does not exist. Known: "
            f"{known_names}"
        )


def relative_to(document: SdfDocument, pose: Element) -> str:
    """Return the name of the frame in the attributes of a ``<pose>``, or ""."""
    frame_name = pose.get("frame") if document.version < (1, 7) else None
    return pose.get("relative_to") or frame_name or ""
