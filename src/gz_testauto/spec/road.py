"""Lanes, and the route of the robot along these lanes.

The keys are in ``road:`` of a campaign, in one world of ``worlds.files``, or in a file::

    road:
      lanes:
        - {name: right, center_m: [[-30, -1.75], [150, -1.75]], width_m: 3.5, left: left}
        - {name: left, center_m: [[-30, 1.75], [150, 1.75]], width_m: 3.5, right: right}
      route: [right]

The lanes can also be read from an OpenDRIVE file. They are then named road.section.lane::

    road: {opendrive: town.xodr, route: [1.0.-1, 2.0.-1]}
"""

import math
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator
from typing_extensions import Annotated

from gz_testauto.base.errors import SpecError
from gz_testauto.base.registry import Registry, unknown_name
from gz_testauto.spec.loader import from_file
from gz_testauto.spec.model import (
    Point,
    Spec,
    as_tuple,
    is_stored,
    require_different,
    resolve_path,
)

ROAD_READERS = Registry("road reader", {})
"""Functions that read lanes: from a path and the types of lanes to read to the fields of a
``LaneSpec`` for each lane."""

JOIN_M = 0.5
"""Largest distance (m) between a lane's end and its successor's start."""

Width = Annotated[float, Field(gt=0, le=100)]


class LaneSpec(Spec):
    """A lane with a driving direction."""

    name: str = Field(min_length=1)
    """The name by which routes and other lanes refer to the lane."""
    center_m: Annotated[Tuple[Point, ...], BeforeValidator(as_tuple)] = Field(min_length=2)
    """Points ``[x, y]`` (m, world frame) of the center line, in the driving direction."""
    width_m: Union[Width, List[Width]] = 3.5
    """Width (m) of the lane, or a list with the width at each point of the center line."""
    left: Optional[str] = None
    """Name of the adjacent lane on the left that the robot can also use, in either direction."""
    right: Optional[str] = None
    """Name of the adjacent lane on the right that the robot can also use, in either direction."""
    successors: Annotated[Tuple[str, ...], BeforeValidator(as_tuple)] = ()
    """Names of the lanes that start where this lane ends."""

    @property
    def widths_m(self) -> Tuple[float, ...]:
        """Return the width at each point of the center line."""
        if isinstance(self.width_m, list):
            return tuple(self.width_m)
        return (self.width_m,) * len(self.center_m)

    @model_validator(mode="after")
    def _check_points(self) -> "LaneSpec":
        if any(a == b for a, b in zip(self.center_m, self.center_m[1:])):
            raise ValueError(f"lane {self.name!r} has two equal consecutive points in 'center_m'")
        if isinstance(self.width_m, list) and len(self.width_m) != len(self.center_m):
            raise ValueError(
                f"lane {self.name!r} has {len(self.width_m)} widths for {len(self.center_m)} points"
            )
        return self


def check_route(route: Sequence[str], lanes: Mapping[str, LaneSpec]) -> None:
    """Raise ``ValueError`` if a lane of a route is unknown, is not a successor of the previous
    lane, or does not start at its end."""
    for name in route:
        if name not in lanes:
            raise ValueError(unknown_name("lane", name, lanes))
    for first, second in zip(route, route[1:]):
        if second not in lanes[first].successors:
            raise ValueError(
                f"{second!r} is not a successor of {first!r}; add it there or change the route"
            )
        gap_m = math.dist(lanes[first].center_m[-1], lanes[second].center_m[0])
        if gap_m > JOIN_M:
            raise ValueError(
                f"lane {second!r} starts {gap_m:.2f} m from the end of {first!r}; it must "
                f"start within {JOIN_M} m"
            )


class RoadSpec(Spec):
    """Lanes, and the route of the robot. In place of ``lanes``, the key ``opendrive`` can name an
    OpenDRIVE file. ``lane_types`` are then the types of lanes to read (default: ``driving``)."""

    lanes: Annotated[Tuple[LaneSpec, ...], BeforeValidator(as_tuple)] = Field(min_length=1)
    """The lanes of the road."""
    route: Annotated[Tuple[str, ...], BeforeValidator(as_tuple)] = Field(min_length=1)
    """Names of the lanes from the start to the goal. Each must be a successor of the previous
    one."""

    @model_validator(mode="before")
    @classmethod
    def _read_opendrive(cls, data: Any, info: ValidationInfo) -> Any:
        if not isinstance(data, dict) or "opendrive" not in data:
            return data
        allowed_keys = {"opendrive", "lane_types", "route"}
        if set(data) - allowed_keys:
            other_keys = ", ".join(sorted(map(str, set(data) - allowed_keys)))
            raise ValueError(
                f"with 'opendrive', only 'route' and 'lane_types' are allowed; remove {other_keys}"
            )
        kinds = data.get("lane_types", ["driving"])
        if is_stored(info):
            raise ValueError("the key 'opendrive' does not occur in stored campaigns")
        file = resolve_path(data["opendrive"], info)
        try:
            read_lanes = ROAD_READERS.get("opendrive")
            lanes = read_lanes(Path(file), [kinds] if isinstance(kinds, str) else list(kinds))
        except SpecError as error:
            raise ValueError(str(error)) from error
        return {"lanes": lanes, "route": data.get("route", ())}

    @property
    def by_name(self) -> Dict[str, LaneSpec]:
        """Return the lanes by name."""
        return {lane.name: lane for lane in self.lanes}

    @field_validator("lanes")
    @classmethod
    def _require_known_lanes(cls, lanes: Tuple[LaneSpec, ...]) -> Tuple[LaneSpec, ...]:
        names = [lane.name for lane in lanes]
        require_different(names, "names of lanes")
        for lane in lanes:
            for lane_name in (lane.left, lane.right, *lane.successors):
                if lane_name is not None and lane_name not in names:
                    raise ValueError(
                        f"lane {lane.name!r}: {unknown_name('lane', lane_name, names)}"
                    )
        return lanes

    @field_validator("route")
    @classmethod
    def _require_connected_route(
        cls, route: Tuple[str, ...], info: ValidationInfo
    ) -> Tuple[str, ...]:
        lanes = {lane.name: lane for lane in info.data.get("lanes", ())}
        if not lanes:
            return route  # the error of the lanes is reported
        check_route(route, lanes)
        return route


RoadOrFile = Annotated[Optional[RoadSpec], from_file(RoadSpec)]
"""A road, or the path of a YAML file with a road."""
