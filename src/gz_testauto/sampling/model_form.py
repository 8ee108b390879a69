"""A simple obstacle's SDF as text with gaps, for filling thousands of times.

Owns finding the gaps in an element that was written once by the slow, general way; filling
them costs a fiftieth of editing the tree. Only for models in which nothing else depends on
the size: one shape, centred on its link.
"""

import re
from typing import Dict, List, Tuple
from xml.sax.saxutils import escape

from lxml import etree

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element
from gz_testauto.sdf.mass import inertia_kgm2
from gz_testauto.sdf.shapes import Box, Geometry
from gz_testauto.sdf.values import format_number

_MOMENTS = ("ixx", "iyy", "izz")
_GAP = re.compile(r"@gap_(\w+?)@")


class ModelForm:
    """The text of ``element``, a model of one box, cylinder or sphere, with gaps."""

    def __init__(self, element: Element, type_: str) -> None:
        element.set("name", "@gap_name@")
        gaps: List[Tuple[str, str]] = [("static", "static"), ("pose", "pose")]
        gaps += [("link/inertial/mass", "mass")]
        gaps += [(f"link/inertial/inertia/{moment}", moment) for moment in _MOMENTS]
        for holder in ("collision", "visual"):
            for tag in ("size", "radius", "length"):
                gaps.append((f"link/{holder}/geometry/{type_}/{tag}", tag))
        for path, gap in gaps:
            for found in element.findall(path):
                found.text = f"@gap_{gap}@"
        self._pieces = _GAP.split(etree.tostring(element, encoding="unicode"))
        self._gaps = list(enumerate(self._pieces))[1::2]

    def fill(self, name: str, pose: Pose, shape: Geometry, mass_kg: float, static: bool) -> str:
        """The model's text under that name, at that place, in that size."""
        values: Dict[str, str] = {
            "name": escape(name, {'"': "&quot;"}),
            "pose": pose.to_text(),
            "static": "true" if static else "false",
            "mass": format_number(mass_kg),
            **dict(zip(_MOMENTS, map(format_number, inertia_kgm2(shape, mass_kg)))),
        }
        if isinstance(shape, Box):
            values["size"] = " ".join(map(format_number, shape.size))
        else:
            values["radius"] = format_number(shape.radius)  # type: ignore[attr-defined]
            values["length"] = format_number(getattr(shape, "length", 0.0))
        parts = self._pieces.copy()
        for place, gap in self._gaps:
            parts[place] = values[gap]
        return "".join(parts)
