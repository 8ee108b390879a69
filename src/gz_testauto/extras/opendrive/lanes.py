"""Lanes from an OpenDRIVE file (``.xodr``), which is read by pyxodr.

Each lane becomes a :class:`~gz_testauto.spec.road.LaneSpec` in the direction of its traffic, with
the name ``<road>.<section>.<lane>``. Sections are counted from 0. Heights are ignored.
"""

import logging
from pathlib import Path
from typing import Any, Dict, List, Mapping

import numpy as np
import shapely
from lxml import etree

from gz_testauto.base.disk import require_regular
from gz_testauto.base.errors import SpecError
from gz_testauto.base.installation import importing
from gz_testauto.base.truncation import join_truncated
from gz_testauto.base.xml_file import read_xml

LOGGER = logging.getLogger(__name__)

SPACING_M = 0.1  # distance between the points at which pyxodr samples a lane

TOLERANCE_M = 0.01

LEAST_M = 0.1  # length and width below which a piece of a lane is ignored

MOST_M = 100_000.0  # longest total length of the roads of a file


def read_lanes(file: Path, kinds: List[str]) -> List[Dict[str, Any]]:
    """Return the lanes of the types ``kinds``, such as ``driving``, as fields of ``LaneSpec``.

    Raises ``SpecError`` for a file that cannot be read or contains no lane of these types, and
    ``MissingDependencyError`` if pyxodr is not installed.
    """
    with importing("OpenDRIVE files need pyxodr", "opendrive"):
        from pyxodr.road_objects.network import RoadNetwork
    require_regular(file, SpecError)
    try:
        _require_length(file)
        network = RoadNetwork(str(file), resolution=SPACING_M)
        _correct_for_pyxodr(network.root)
        sections = [section for road in network.get_roads() for section in road.lane_sections]
        read = [
            _read(lane, _can_cross(section.lane_section_xml, lane.id))
            for section in sections
            for lane in section.lanes
        ]
    except (
        ArithmeticError,
        LookupError,
        NameError,  # pyxodr reads an undefined variable
        NotImplementedError,
        OSError,
        SyntaxError,
        TypeError,
        ValueError,
    ) as error:
        raise SpecError(
            f"{file}: pyxodr cannot read the file ({error}); correct it, or use a part of the map"
        ) from error
    every = {lane["name"]: lane for lane in read}
    lanes = {
        name: lane for name, lane in every.items() if lane["kind"] in kinds and lane["is_lane"]
    }
    if not lanes:
        found_kinds = sorted({lane["kind"] for lane in read})
        raise SpecError(
            f"{file}: no lane has one of the types {', '.join(kinds)}"
            + (f"; the types in the file are {', '.join(found_kinds)}" if found_kinds else "")
        )
    wrong_links = [link for lane in lanes.values() for link in lane["wrong_links"]]
    if wrong_links:
        LOGGER.warning(
            "%s: %d links of lanes are ignored, since they lead against the traffic: %s",
            file,
            len(wrong_links),
            join_truncated(wrong_links),
        )
    return [_restrict_references(lane, lanes, every) for lane in lanes.values()]


def _correct_for_pyxodr(root: Any) -> None:
    # pyxodr finds no element in a namespace, and places the <border> of a right lane on the left.
    for element in root.iter(etree.Element):
        element.tag = etree.QName(element).localname
    for border in root.iterfind("road/lanes/laneSection/right/lane/border"):
        for coefficient in "abcd":
            border.set(coefficient, repr(-float(border.get(coefficient, "0"))))


def _require_length(file: Path) -> None:
    # pyxodr needs about 8 MB per kilometer of a road with five lanes
    geometries = read_xml(file).findall("{*}road/{*}planView/{*}geometry")
    lengths_m = [float(geometry.get("length")) for geometry in geometries]
    if sum(lengths_m) > MOST_M:
        longest = int(np.argmax(lengths_m))
        raise SpecError(
            f"{file}:{geometries[longest].sourceline}: the roads of a file can have a total length "
            f"of {MOST_M:g} m, but have {sum(lengths_m):g} m; this geometry has the attribute "
            f"'length' {lengths_m[longest]:g}. Correct it, or use a section of the map"
        )


def _lane_id(lane: Any) -> str:
    return f"{lane.road_id}.{lane.lane_section_id}.{lane.id}"


def _can_cross(section_xml: Any, lane: int) -> bool:
    """Return whether a vehicle on the lane with the ID ``lane`` can change lanes across the center.

    At least one of the center lane's road marks along the section must allow this.
    """
    # ``laneChange``: an increase is a change to a larger ID; the default allows both
    marks = section_xml.findall("center/lane/roadMark")
    allowed = ("both", "increase" if lane < 0 else "decrease")
    return not marks or any(mark.get("laneChange", "both") in allowed for mark in marks)


def _against(lane: Any) -> bool:
    """Return whether the traffic of a lane is opposite to the direction of its road."""
    return bool(lane._traffic_flows_in_opposite_direction_to_centre_line)


def _read(lane: Any, can_cross: bool) -> Dict[str, Any]:
    """Return a lane as fields of ``LaneSpec`` and the additional fields ``kind``, ``is_lane`` and
    ``wrong_links``, the links to ends of other lanes from which no traffic leaves.

    Its neighbors and successors can be of any type. If the lane is too short or too narrow,
    ``is_lane`` is False and the fields of its shape are missing. Raises ``ValueError`` for a lane
    on the wrong side of its inner border.
    """
    against = _against(lane)
    links = lane.predecessor_data if against else lane.successor_data
    name = _lane_id(lane)
    follows = [
        (_lane_id(linked), position.name == ("END" if _against(linked) else "BEGINNING"))
        for linked, position in links
    ]
    successors = {linked for linked, is_start in follows if is_start}
    fields = {
        "name": name,
        "kind": str(lane.type),
        "is_lane": False,
        "successors": sorted(successors),
        "wrong_links": [f"{name} to {linked}" for linked, _ in follows if linked not in successors],
    }
    if len(lane.lane_section_reference_line) < 2:
        return fields
    center = np.asarray(lane.traffic_flow_line)[:, :2]
    inner_line, outer_line = np.asarray(lane.lane_reference_line), np.asarray(lane.boundary_line)
    widths = np.hypot(*(inner_line - outer_line).T)
    along, outwards = np.diff(inner_line, axis=0), (outer_line - inner_line)[1:]
    leftwards = along[:, 0] * outwards[:, 1] - along[:, 1] * outwards[:, 0]
    if leftwards.sum() * lane.id < -TOLERANCE_M * np.abs(along).sum():
        raise ValueError(f"lane {name} is on the wrong side of the road; correct its borders")
    if against:
        widths = widths[::-1]
    line = shapely.LineString(center)
    if line.length < LEAST_M or widths.max() < LEAST_M or not np.isfinite(center).all():
        return fields
    vertices = shapely.get_coordinates(line.simplify(TOLERANCE_M))
    arcs = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(center, axis=0).T))])
    wide = np.interp(shapely.line_locate_point(line, shapely.points(vertices)), arcs, widths)
    step = 1 if lane.id > 0 else -1
    inward, outward = lane.id - step, lane.id + step
    if inward == 0 and can_cross:
        inward = -step
    left, right = (inward, outward) if (lane.id > 0) == against else (outward, inward)
    prefix = f"{lane.road_id}.{lane.lane_section_id}."
    return {
        **fields,
        "is_lane": True,
        "center_m": [tuple(point) for point in vertices.tolist()],
        "width_m": np.maximum(wide, LEAST_M).tolist(),
        "left": f"{prefix}{left}" if left else None,
        "right": f"{prefix}{right}" if right else None,
    }


def _restrict_references(
    lane: Mapping[str, Any], lanes: Mapping[str, Any], every: Mapping[str, Any]
) -> Dict[str, Any]:
    """Return a lane of :func:`_read` as fields of ``LaneSpec`` that refer only to ``lanes``.

    A successor that is no lane (``is_lane``) is replaced by its own successors in ``every``, all
    lanes of the file.
    """
    additional = ("kind", "is_lane", "wrong_links")
    reduced_lane = {key: value for key, value in lane.items() if key not in additional}
    for side in ("left", "right"):
        reduced_lane[side] = reduced_lane[side] if reduced_lane[side] in lanes else None
    successors: List[str] = []
    pending, visited_names = list(lane["successors"]), set()
    while pending:
        name = pending.pop(0)
        if name in lanes:
            successors.append(name)
        elif name in every and name not in visited_names and not every[name]["is_lane"]:
            pending.extend(every[name]["successors"])
        visited_names.add(name)
    reduced_lane["successors"] = list(dict.fromkeys(successors))
    return reduced_lane
