"""Lanes from an OpenDRIVE file (``.xodr``).

Each lane becomes a :class:`~gz_testauto.spec.road.LaneSpec` in the direction of its traffic, with
the name ``<road>.<section>.<lane>``. Sections are counted from 0. Heights are ignored.
"""

import logging
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set, Tuple

import numpy as np
import shapely
from lxml import etree

from gz_testauto.base.disk import require_regular
from gz_testauto.base.errors import SpecError
from gz_testauto.base.truncation import join_truncated
from gz_testauto.base.xml_file import read_xml
from gz_testauto.extras.opendrive.plan_view import (
    LEAST_M,
    Cubics,
    ReferenceLine,
    RoadError,
    number,
)

LOGGER = logging.getLogger(__name__)

SPACING_M = 0.1  # largest distance between the sampled points of a lane

TOLERANCE_M = 0.01


# Offsets and widths are read this far before the end of a section, where other pieces can start.
END_M = 1e-6

MOST_M = 100_000.0  # longest total length of the roads of a file


@dataclass(frozen=True)
class FileLane:
    """A lane of a section.

    ``center`` (m, shape (n, 2)) and ``widths`` (m, shape (n,)) have the direction of the traffic,
    and are empty for a lane that is too short or too narrow. ``successors`` can be of any type.
    ``wrong_links`` are the links to ends of other lanes from which no traffic leaves.
    """

    name: str
    kind: str
    center: np.ndarray
    widths: np.ndarray
    left: Optional[str]
    right: Optional[str]
    successors: Set[str]
    predecessors: Set[str]
    wrong_links: List[str]


def read_lanes(file: Path, kinds: List[str]) -> List[Dict[str, Any]]:
    """Return the lanes of the types ``kinds``, such as ``driving``, as fields of ``LaneSpec``.

    Raises ``SpecError`` for a file that cannot be read or contains no lane of these types.
    """
    require_regular(file, SpecError)
    try:
        root = read_xml(file)
        namespace = etree.QName(root).namespace
        for element in root.iter(etree.Element):
            name = etree.QName(element)
            if name.namespace == namespace:  # other elements are extensions of a vendor
                element.tag = name.localname
        every = {lane.name: lane for lane in _Network(root).lanes()}
    except (OSError, etree.XMLSyntaxError) as error:
        raise SpecError(f"{file}: cannot be read: {error}") from error
    except RoadError as error:
        raise SpecError(f"{file}:{error.line}: {error}") from error
    for lane in every.values():  # some files contain a link at one of the two lanes only
        for name in lane.predecessors & every.keys():
            every[name].successors.add(lane.name)
    lanes = {name: lane for name, lane in every.items() if lane.kind in kinds and len(lane.center)}
    if not lanes:
        known_kinds = sorted({lane.kind for lane in every.values()})
        raise SpecError(
            f"{file}: no lane has one of the types {', '.join(kinds)}"
            + (f"; the types in the file are {', '.join(known_kinds)}" if known_kinds else "")
        )
    wrong_links = [link for lane in lanes.values() for link in lane.wrong_links]
    for lane in lanes.values():
        missing_names = sorted((lane.successors | lane.predecessors) - every.keys())
        wrong_links += [f"{lane.name} to {name}" for name in missing_names]
    if wrong_links:
        LOGGER.warning(
            "%s: %d links of lanes are ignored, since they lead to no lane or against the "
            "traffic: %s",
            file,
            len(wrong_links),
            join_truncated(wrong_links),
        )
    return [_fields(lane, lanes, every) for lane in lanes.values()]


def _fields(
    lane: FileLane, lanes: Mapping[str, FileLane], every: Mapping[str, FileLane]
) -> Dict[str, Any]:
    """Return a lane as fields of ``LaneSpec`` that refer only to ``lanes``.

    A successor without a center is replaced by its own successors in ``every``, all lanes of the
    file.
    """
    line = shapely.LineString(lane.center)
    vertices = shapely.get_coordinates(line.simplify(TOLERANCE_M))
    arcs = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(lane.center, axis=0).T))])
    widths = np.interp(shapely.line_locate_point(line, shapely.points(vertices)), arcs, lane.widths)
    successors: List[str] = []
    pending, visited_names = sorted(lane.successors), set()
    while pending:
        name = pending.pop(0)
        if name in lanes:
            successors.append(name)
        elif name in every and name not in visited_names and not len(every[name].center):
            pending.extend(sorted(every[name].successors))
        visited_names.add(name)
    return {
        "name": lane.name,
        "center_m": [tuple(point) for point in vertices.tolist()],
        "width_m": np.maximum(widths, LEAST_M).tolist(),
        "left": lane.left if lane.left in lanes else None,
        "right": lane.right if lane.right in lanes else None,
        "successors": list(dict.fromkeys(successors)),
    }


class _Road:
    """A ``<road>`` with its sections and links."""

    def __init__(self, road: "etree._Element") -> None:
        self.id = road.get("id") or ""
        self.left_hand = road.get("rule") == "LHT"
        self.sections = road.findall("lanes/laneSection")
        self.links = {end: road.find(f"link/{end}") for end in ("predecessor", "successor")}
        self.line = ReferenceLine(road)
        self.offsets = Cubics(road.findall("lanes/laneOffset"), "s")

    def against(self, lane: int) -> bool:
        """Return whether the traffic of a lane is opposite to the direction of the road."""
        return (lane > 0) != self.left_hand

    def name(self, section: int, lane: int) -> str:
        return f"{self.id}.{section}.{lane}"

    def neighbors(self, section: int, lane: int) -> Tuple[Optional[str], Optional[str]]:
        """Return the names of the lanes to the left and to the right, seen by the traffic. A lane
        across the center is None if vehicles cannot cross the center."""
        step = 1 if lane > 0 else -1
        inward, outward = lane - step, lane + step
        if inward == 0 and _can_cross(self.sections[section], lane):
            inward = -step
        left, right = (inward, outward) if (lane > 0) == self.against(lane) else (outward, inward)
        return (
            self.name(section, left) if left else None,
            self.name(section, right) if right else None,
        )


@dataclass(frozen=True)
class _Link:
    """A link to the ``contact_point`` (``start`` or ``end``) of a lane."""

    road: str
    section: int
    lane: int
    contact_point: str

    @property
    def name(self) -> str:
        return f"{self.road}.{self.section}.{self.lane}"


class _Network:
    """The roads and junctions of a file. Raises ``RoadError`` for an invalid element."""

    def __init__(self, root: "etree._Element") -> None:
        elements = root.findall("road")
        _require_length(elements)
        self._roads: Dict[str, _Road] = {}
        for element in elements:
            road = _Road(element)
            if road.id in self._roads:
                raise RoadError(element, f"two roads have the ID {road.id!r}; rename one of them")
            self._roads[road.id] = road
        self._junctions = {junction.get("id"): junction for junction in root.findall("junction")}

    def lanes(self) -> Iterator[FileLane]:
        for road in self._roads.values():
            for index in range(len(road.sections)):
                for element, center, widths in _shapes(road, index):
                    yield self._lane(road, index, element, center, widths)

    def _lane(
        self,
        road: _Road,
        index: int,
        element: "etree._Element",
        center: np.ndarray,
        widths: np.ndarray,
    ) -> FileLane:
        lane = int(number(element, "id"))
        name = road.name(index, lane)
        last, first = "successor", "predecessor"  # the ends of the lane, seen by the traffic
        if road.against(lane):
            last, first = first, last
        left, right = road.neighbors(index, lane)
        links = list(self._links(road, index, element, last))
        return FileLane(
            name=name,
            kind=element.get("type") or "none",
            center=center,
            widths=widths,
            left=left,
            right=right,
            successors={link.name for link in links if self._enters(link)},
            predecessors={
                link.name
                for link in self._links(road, index, element, first)
                if not self._enters(link)
            },
            wrong_links=[f"{name} to {link.name}" for link in links if not self._enters(link)],
        )

    def _links(
        self, road: _Road, index: int, element: "etree._Element", end: str
    ) -> Iterator[_Link]:
        """Yield the links at the ``end`` of a lane, which is ``predecessor`` or ``successor``."""
        lane = int(number(element, "id"))
        linked_ids = [int(number(link, "id")) for link in element.findall(f"link/{end}")]
        next_index = index + (-1 if end == "predecessor" else 1)
        link = road.links[end]
        if 0 <= next_index < len(road.sections):
            contact_point = "end" if end == "predecessor" else "start"
            for linked_id in linked_ids:
                yield _Link(road.id, next_index, linked_id, contact_point)
        elif link is not None and link.get("elementType") == "road":
            for linked_id in linked_ids:
                yield self._contact(link, "elementId", linked_id)
        elif link is not None and link.get("elementId") in self._junctions:
            for connection in self._junctions[link.get("elementId")].findall("connection"):
                key = "linkedRoad" if connection.get("linkedRoad") else "connectingRoad"
                for lane_link in connection.findall("laneLink"):
                    if (
                        connection.get("incomingRoad") == road.id
                        and number(lane_link, "from") == lane
                    ):
                        yield self._contact(connection, key, int(number(lane_link, "to")))

    def _contact(self, element: "etree._Element", key: str, lane: int) -> _Link:
        road, contact_point = element.get(key) or "", element.get("contactPoint", "start")
        at_end = contact_point == "end" and road in self._roads
        section = len(self._roads[road].sections) - 1 if at_end else 0
        return _Link(road, section, lane, contact_point)

    def _enters(self, link: _Link) -> bool:
        """Return whether the traffic of the linked lane starts at the contact point."""
        against = link.road in self._roads and self._roads[link.road].against(link.lane)
        return link.road in self._roads and against == (link.contact_point == "end")


def _require_length(roads: List["etree._Element"]) -> None:
    # A kilometer of a road with five lanes needs about 2 MB of memory.
    geometries = [part for road in roads for part in road.findall("planView/geometry")]
    lengths_m = [number(part, "length") for part in geometries]
    if sum(lengths_m) > MOST_M:
        longest = int(np.argmax(lengths_m))
        raise RoadError(
            geometries[longest],
            f"the roads of a file can have a total length of {MOST_M:g} m, but have "
            f"{sum(lengths_m):g} m; this geometry has the attribute 'length' "
            f"{lengths_m[longest]:g}. Correct it, or use a section of the map",
        )


def _shapes(road: _Road, index: int) -> Iterator[Tuple["etree._Element", np.ndarray, np.ndarray]]:
    """Yield each ``<lane>`` of a section with its center and widths as in ``FileLane``."""
    section = road.sections[index]
    if section.get("singleSide") == "true":
        raise RoadError(section, "a <laneSection> with singleSide is not supported")
    start = number(section, "s")
    following = road.sections[index + 1 : index + 2]
    length = (number(following[0], "s") if following else road.line.length) - start
    if not -LEAST_M < length <= MOST_M:
        raise RoadError(
            section,
            f"section {index} of road {road.id} has a length of {length:g} m; correct the "
            "attributes 's' of the sections and of the <geometry> elements",
        )
    s = np.linspace(0.0, max(length, 0.0), max(math.ceil(length / SPACING_M), 1) + 1)
    inside = np.clip(s, 0.0, max(length - END_M, 0.0))
    points, headings = road.line.frames(start + s)
    normals = np.stack([-np.sin(headings), np.cos(headings)], axis=1)
    offsets = road.offsets(start + inside)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        inner = offsets
        elements = section.findall(f"{side}/lane")
        elements.sort(key=lambda lane: abs(number(lane, "id")))
        for position, element in enumerate(elements, start=1):
            lane = int(number(element, "id"))
            width_pieces, borders = element.findall("width"), element.findall("border")
            name = road.name(index, lane)
            _require_valid_lane(element, name, road.id, int(sign) * position)
            if width_pieces:
                outer = inner + sign * Cubics(width_pieces, "sOffset")(inside)
            else:
                outer = offsets + Cubics(borders, "sOffset")(inside)
            widths = sign * (outer - inner)
            if widths.min() < -LEAST_M:
                raise RoadError(
                    element,
                    f"lane {name} is on the wrong side of its inner border at "
                    f"s = {start + s[np.argmin(widths)]:.1f} m; correct its <border> or <width>",
                )
            center = points + ((inner + outer) / 2)[:, None] * normals
            inner = outer
            if length < LEAST_M or widths.max() < LEAST_M:
                yield element, center[:0], widths[:0]
            elif road.against(lane):
                yield element, center[::-1], widths[::-1]
            else:
                yield element, center, widths


def _require_valid_lane(
    element: "etree._Element", name: str, road_id: str, expected_id: int
) -> None:
    if number(element, "id") != expected_id:
        side = "left" if expected_id > 0 else "right"
        raise RoadError(
            element,
            f"lane {name} is number {abs(expected_id)} on the {side} of road {road_id}, so its ID "
            f"must be {expected_id}; IDs count from the center without gaps or duplicates. Correct "
            "the IDs, and the links to these lanes",
        )
    pieces = element.findall("width") or element.findall("border")
    if min((number(piece, "sOffset") for piece in pieces), default=math.inf) > LEAST_M:
        raise RoadError(
            element,
            f"lane {name} has no width at the start of its section; add a <width> or <border> with "
            "sOffset 0",
        )
    if element.get("direction", "standard") != "standard":
        raise RoadError(
            element,
            f"lane {name} has the direction {element.get('direction')!r}, and only lanes with the "
            "usual direction of their side are supported; remove the lane or the attribute",
        )


def _can_cross(section: "etree._Element", lane: int) -> bool:
    """Return whether a vehicle on the lane with the ID ``lane`` can change lanes across the center.

    At least one of the center lane's road marks along the section must allow this.
    """
    # ``laneChange``: an increase is a change to a larger ID; the default allows both
    marks = section.findall("center/lane/roadMark")
    allowed = ("both", "increase" if lane < 0 else "decrease")
    return not marks or any(mark.get("laneChange", "both") in allowed for mark in marks)
