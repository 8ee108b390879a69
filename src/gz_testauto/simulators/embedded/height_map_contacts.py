"""Contacts of cylinders that roll on level or plane parts of height maps, corrected in each step.

MuJoCo tests a cylinder against the prism below each triangle of a height map separately. Contacts
can have the normal of a side of a prism, inside the ground, and others have a depth error of 1 µm.
With stiff contacts, both errors shake a robot.

Where the height map is a plane up to a distance of one cell from a contact, this module removes
each contact whose normal differs by more than :data:`SAME_NORMAL_RAD`. The other contacts get
the normal of the plane, and a depth that is computed from the cylinder and the plane.
"""

import math
from typing import Any, List, NamedTuple

import mujoco
import numpy as np

from gz_testauto.base.compiled import compiled

# angle between the normals of a contact and a plane below which they count as equal
SAME_NORMAL_RAD = 0.02

# difference of the slopes of triangles below which they are in one plane
FLATNESS = 1e-4

# Absolute cosine of the angle between a plane's normal and a cylinder's axis below which the
# cylinder touches the ground with its curved surface or a rim.
ROLLING = 0.9

_HEIGHT_MAP = int(mujoco.mjtGeom.mjGEOM_HFIELD)
_CYLINDER = int(mujoco.mjtGeom.mjGEOM_CYLINDER)
# a value of mjContact.exclude with which MuJoCo creates no constraint
_REMOVED = 3

_COSINE = math.cos(SAME_NORMAL_RAD)


class _HeightMap(NamedTuple):
    """A height map: the id of its geom, heights[y, x], and half of its size in x and y."""

    geom: int
    heights_m: np.ndarray
    half_m: np.ndarray


class HeightMapContacts:
    def __init__(self, model: Any, data: Any) -> None:
        self._model, self._data = model, data
        moves = model.body_treeid[model.geom_bodyid] >= 0
        self._is_cylinder = (model.geom_type == _CYLINDER) & moves
        maps = np.flatnonzero(model.geom_type == _HEIGHT_MAP) if self._is_cylinder.any() else ()
        self._maps: List[_HeightMap] = [_read_height_map(model, int(geom)) for geom in maps]

    def correct(self) -> None:
        """Correct the contacts and constraints after ``mj_step1``."""
        if not self._maps:
            return
        model, data, contact = self._model, self._data, self._data.contact
        changed_count = 0
        for height_map in self._maps:
            changed_count += _correct_contacts(
                contact.geom,
                contact.frame,
                contact.pos,
                contact.dist,
                contact.exclude,
                contact.efc_address,
                height_map.geom,
                data.geom_xpos[height_map.geom],
                data.geom_xmat[height_map.geom].reshape(3, 3),
                height_map.heights_m,
                height_map.half_m,
                self._is_cylinder,
                data.geom_xpos,
                data.geom_xmat,
                model.geom_size,
            )
        if changed_count:
            mujoco.mj_makeConstraint(model, data)
            mujoco.mj_island(model, data)
            mujoco.mj_projectConstraint(model, data)
            mujoco.mj_referenceConstraint(model, data)


def _read_height_map(model: Any, geom: int) -> _HeightMap:
    field = int(model.geom_dataid[geom])
    rows, columns = int(model.hfield_nrow[field]), int(model.hfield_ncol[field])
    first = int(model.hfield_adr[field])
    size = model.hfield_size[field]
    heights = model.hfield_data[first : first + rows * columns].reshape(rows, columns)
    return _HeightMap(geom, heights.astype(float) * size[2], np.array(size[:2], dtype=float))


@compiled
def _correct_contacts(  # type: ignore[no-untyped-def]
    geoms, frames, positions, distances, exclusions, rows,
    ground_geom, origin, turn, heights_m, half_m, is_cylinder, centers, turns, sizes,
):  # fmt: skip
    """Correct the contacts with one height map, and return the number of changed contacts.

    ``geoms`` to ``rows`` are fields of MuJoCo's contacts, which are modified. ``origin`` and
    ``turn`` (axes in columns) are the pose of the map. The last arrays have a row for each geom.
    """
    changed_count = 0
    normal, point, axis, center = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    plane = np.empty(6)
    for contact in range(len(distances)):
        first, second = geoms[contact, 0], geoms[contact, 1]
        if first == ground_geom:
            cylinder, sign = second, 1.0
        elif second == ground_geom:
            cylinder, sign = first, -1.0
        else:
            continue
        if cylinder < 0 or not is_cylinder[cylinder]:
            continue
        for row in range(3):  # in the frame of the height map, from the ground to the cylinder
            normal[row] = point[row] = axis[row] = center[row] = 0.0
            for column in range(3):
                part = turn[column, row]
                normal[row] += part * sign * frames[contact, column]
                point[row] += part * (positions[contact, column] - origin[column])
                axis[row] += part * turns[cylinder, 3 * column + 2]
                center[row] += part * (centers[cylinder, column] - origin[column])
        for row in range(3):
            point[row] -= normal[row] * distances[contact] / 2.0
        if not _find_plane(heights_m, half_m, point, plane):
            continue
        along = axis[0] * plane[0] + axis[1] * plane[1] + axis[2] * plane[2]
        if abs(along) >= ROLLING:
            continue
        cosine = normal[0] * plane[0] + normal[1] * plane[1] + normal[2] * plane[2]
        if cosine < _COSINE or not _set_line_contact(
            frames[contact], positions[contact], distances, contact, sign,
            origin, turn, plane, along, axis, center, point, sizes[cylinder],
        ):  # fmt: skip
            exclusions[contact] = _REMOVED
            rows[contact] = -1
            distances[contact] = 1.0
        changed_count += 1
    return changed_count


@compiled
def _find_plane(heights_m, half_m, point, plane):  # type: ignore[no-untyped-def]
    """Return whether the map is a plane around ``point`` (m), up to a distance of one cell.

    Writes the unit normal and a point of the plane into ``plane`` (6,), in the frame of the map.
    """
    count_y, count_x = heights_m.shape
    step_x, step_y = 2.0 * half_m[0] / (count_x - 1), 2.0 * half_m[1] / (count_y - 1)
    x = math.floor((point[0] + half_m[0]) / step_x)
    y = math.floor((point[1] + half_m[1]) / step_y)
    if not (1 <= x < count_x - 2 and 1 <= y < count_y - 2):
        return False
    height = heights_m[y, x]
    rise_x, rise_y = heights_m[y, x + 1] - height, heights_m[y + 1, x] - height
    for right in range(-1, 3):
        for up in range(-1, 3):
            deviation = heights_m[y + up, x + right] - (height + right * rise_x + up * rise_y)
            if abs(deviation) > FLATNESS * step_x:
                return False
    slope_x, slope_y = rise_x / step_x, rise_y / step_y
    length = math.sqrt(1.0 + slope_x * slope_x + slope_y * slope_y)
    plane[0], plane[1], plane[2] = -slope_x / length, -slope_y / length, 1.0 / length
    plane[3], plane[4] = x * step_x - half_m[0], y * step_y - half_m[1]
    plane[5] = height
    return True


@compiled
def _set_line_contact(  # type: ignore[no-untyped-def]
    frame, position, distances, contact, sign,
    origin, turn, plane, along, axis, center, point, size,
):  # fmt: skip
    """Set a contact to the cylinder's line nearest to the plane; return whether they touch.

    Modifies ``frame``, ``position`` (world), the distance of the contact, and ``point``. ``plane``,
    ``axis``, ``center`` and ``point`` are in the frame of the height map. ``along`` is the cosine
    between normal and axis, and ``sign`` is 1 if the map is the first geom.
    """
    place = 0.0
    for row in range(3):
        place += (point[row] - center[row]) * axis[row]
    place = min(max(place, -size[1]), size[1])
    across = math.sqrt(1.0 - along * along)
    distance = 0.0
    for row in range(3):
        down = (plane[row] - along * axis[row]) / across
        point[row] = center[row] + place * axis[row] - size[0] * down
        distance += (point[row] - plane[3 + row]) * plane[row]
    if distance >= 0.0:
        return False
    distances[contact] = distance
    second = 0.0
    for row in range(3):
        position[row] = origin[row]
        frame[row] = 0.0
        for column in range(3):
            position[row] += turn[row, column] * (point[column] - plane[column] * distance / 2.0)
            frame[row] += turn[row, column] * sign * plane[column]
        second += frame[row] * frame[3 + row]
    length = 0.0
    for row in range(3):
        frame[3 + row] -= second * frame[row]
        length += frame[3 + row] * frame[3 + row]
    length = math.sqrt(length)
    for row in range(3):
        frame[3 + row] /= length
    frame[6] = frame[1] * frame[5] - frame[2] * frame[4]
    frame[7] = frame[2] * frame[3] - frame[0] * frame[5]
    frame[8] = frame[0] * frame[4] - frame[1] * frame[3]
    return True
