"""What a pose is relative to: the frame semantics of SDF 1.7, and the defaults before it.

Owns the ``relative_to`` attribute, in a world and in a model. Names of links, joints,
frames, models (also ``inner::link``), ``__model__`` and ``world`` are understood; anything
else is refused by name. The ``frame`` attribute of SDF up to 1.6 means the same, as it does to
Gazebo 11, and nothing from 1.7 on.
"""

from typing import Dict, List, Optional, Tuple

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.values import name_of, pose_value

MAX_STEPS = 200
"""Frames of which each is relative to the next."""


class FrameGraph:
    """The named frames of one ``<model>`` or ``<world>`` element.

    ``add`` makes one known; ``pose`` and ``of`` give poses in the element's own frame.
    """

    def __init__(self, document: SdfDocument, owner: Element) -> None:
        self._document = document
        self._own_names = ("world",) if owner.tag == "world" else ("__model__",)
        self._entries: Dict[str, Tuple[Optional[Element], str]] = {}
        self._nested: Dict[str, FrameGraph] = {}
        self._resolved: Dict[str, Pose] = {name: Pose() for name in (*self._own_names, "")}
        self._under_way: List[str] = []
        for frame in owner.findall("frame"):
            self.add(name_of(document, frame), frame.find("pose"), frame.get("attached_to", ""))

    def add(
        self,
        name: str,
        pose: Optional[Element],
        base: str = "",
        nested: "Optional[FrameGraph]" = None,
    ) -> None:
        """Make ``name`` known; ``base`` is what its pose is relative to unless it says.

        A name that is known stays what it was: before SDF 1.7 a joint may bear a link's name,
        so links are added before joints.
        """
        self._entries.setdefault(name, (pose, base))
        if nested is not None:
            self._nested.setdefault(name, nested)

    def add_fixed(self, name: str, pose: Pose, nested: "FrameGraph") -> None:
        """Make a model known whose pose is already given in this element's frame."""
        if name not in self._entries:
            self._entries[name] = (None, "")
            self._nested[name] = nested
            self._resolved[name] = pose

    def pose(self, name: str, where: str = "") -> Pose:
        """The pose of a named frame. Raises ``SdfError`` for unknown names and circles."""
        if name in self._resolved:
            return self._resolved[name]
        if name not in self._entries:
            return self._scoped(name, where)
        if name in self._under_way:
            circle = " → ".join([*self._under_way, name])
            raise SdfError(f"{where}: poses are relative to each other in a circle: {circle}")
        if len(self._under_way) == MAX_STEPS:
            raise SdfError(
                f"{where}: the pose of {self._under_way[0]!r} is relative to {name!r} by more "
                f"than {MAX_STEPS} steps; give it relative to something nearer"
            )
        element, base = self._entries[name]
        self._under_way.append(name)
        try:
            self._resolved[name] = self.of(element, base)
        finally:
            self._under_way.pop()
        return self._resolved[name]

    def of(self, element: Optional[Element], base: str = "") -> Pose:
        """The pose that a ``<pose>`` element stands for; ``base`` when it names no frame."""
        value = pose_value(self._document, element)
        where = self._document.source
        if element is not None:
            where = self._document.where(element)
            renamed = element.get("frame") if self._document.version < (1, 7) else None
            base = element.get("relative_to") or renamed or base
        if base in self._resolved and self._resolved[base] == Pose():
            return value  # exact, whatever the arithmetic of composing
        return self.pose(base, where) * value

    def _scoped(self, name: str, where: str) -> Pose:
        outer, separator, inner = name.partition("::")
        if separator and outer in self._nested:
            return self.pose(outer, where) * self._nested[outer].pose(inner, where)
        known = ", ".join(sorted([*self._entries, self._own_names[0]]))
        raise SdfError(
            f"{where}: a pose is relative to {name!r}, which is not here. Known: {known}"
        )
