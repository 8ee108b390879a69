"""Areas of the ground in an obstacle specification: regions for centers, and keep-outs::

    region: {rectangle: {x_m: [-9, 9], y_m: [-9, 9]}}
    region: {polygon: [[0, 0], [4, 0], [0, 4]]}
    region: {circle: {x_m: 0, y_m: 0, radius_m: 5}}
    region: {along_path: {width_m: 3}}                # only of random obstacles
    region: [{rectangle: ...}, {polygon: ...}]        # several: their union

All are in meters, in the world frame.
"""

from typing import Any, List, Optional, Sequence, Union

import shapely
from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator
from typing_extensions import Annotated, Literal

from gz_testauto.base.errors import SpecError
from gz_testauto.spec.model import LARGEST, Bounded, Interval, Point, Spec

CIRCLE_SEGMENTS = 32
"""Number of segments per quarter circle in the polygon of a circular region. The error of the area
is at most 0.03 %."""


class Rectangle(Spec):
    """A rectangle with sides along the x and y axes."""

    x_m: Interval
    """Lowest and highest x coordinate (m, world frame)."""
    y_m: Interval
    """Lowest and highest y coordinate (m, world frame)."""

    @model_validator(mode="after")
    def _require_ordered(self) -> "Rectangle":
        for name, (low, high) in (("x_m", self.x_m), ("y_m", self.y_m)):
            if not low < high:
                raise ValueError(f"{name} [{low}, {high}] has no extent; write [lowest, highest]")
        return self


class Circle(Spec):
    """A circular area."""

    x_m: Bounded
    """x coordinate (m, world frame) of the center."""
    y_m: Bounded
    """y coordinate (m, world frame) of the center."""
    radius_m: float = Field(gt=0, le=LARGEST)
    """Radius (m) of the circle."""


class Region(Spec):
    """A rectangle, a polygon or a circle."""

    rectangle: Optional[Rectangle] = None
    """A rectangular area with sides along the axes."""
    polygon: Optional[List[Point]] = Field(None, min_length=3)
    """Corners ``[x, y]`` (m, world frame) of a polygonal area, in order."""
    circle: Optional[Circle] = None
    """A circular area."""

    @model_validator(mode="after")
    def _require_one_shape(self) -> "Region":
        shapes = [shape for shape in (self.rectangle, self.polygon, self.circle) if shape]
        if len(shapes) != 1:
            raise ValueError("exactly one of 'rectangle', 'polygon' and 'circle' must be set")
        if self.polygon and not shapely.Polygon(self.polygon).is_valid:
            raise ValueError("the polygon's outline crosses itself or has no area")
        return self

    @property
    def geometry(self) -> shapely.Polygon:
        """Return the shape as a shapely geometry (m, world frame)."""
        if self.rectangle:
            (x_min, x_max), (y_min, y_max) = self.rectangle.x_m, self.rectangle.y_m
            return shapely.box(x_min, y_min, x_max, y_max)
        if self.circle:
            center = shapely.Point(self.circle.x_m, self.circle.y_m)
            return center.buffer(self.circle.radius_m, quad_segs=CIRCLE_SEGMENTS)
        return shapely.Polygon(self.polygon)


class PathBand(Spec):
    """All points within half of ``width_m`` of the shortest path through all goals of the mission,
    in the base world without random obstacles. The path is that of the robot's circle, enlarged by
    ``solvable.margin_m``."""

    width_m: float = Field(gt=0, le=LARGEST)
    """Width (m) of the band."""


class PathRegion(Spec):
    """A band along the shortest path of the mission."""

    along_path: PathBand
    """The band."""

    @property
    def geometry(self) -> shapely.Polygon:
        """Raise ``SpecError``: the geometry depends on the base world and the mission."""
        raise SpecError("along_path needs a base world and a mission; use a rectangle or polygon")


class KeepOut(Spec):
    """An area in which no part of an obstacle is allowed: a fixed shape, or a disc around the start
    or the goals."""

    center: Optional[Literal["start", "goal"]] = None
    """The center of a disc: the robot's start, or each of its goals."""
    radius_m: Optional[float] = Field(None, gt=0, le=LARGEST)
    """Radius (m) of the disc."""
    shape: Optional[Region] = None
    """A fixed area. Its keys ``rectangle``, ``polygon`` and ``circle`` can also be written directly
    in the entry of ``keep_out``."""

    @model_validator(mode="before")
    @classmethod
    def _wrap_bare_shape(cls, data: Any) -> Any:
        shapes = ("rectangle", "polygon", "circle")
        if isinstance(data, dict) and "shape" not in data and any(key in data for key in shapes):
            other_keys = {key: value for key, value in data.items() if key not in shapes}
            return {**other_keys, "shape": {key: data[key] for key in shapes if key in data}}
        return data

    @model_validator(mode="after")
    def _require_center_or_shape(self) -> "KeepOut":
        if (self.center is None) == (self.shape is None):
            raise ValueError("set either 'center' (start or goal, with 'radius_m') or a shape")
        if (self.center is None) != (self.radius_m is None):
            raise ValueError("'center' (start or goal) and 'radius_m' must both be set")
        return self


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Regions = Annotated[List[Region], BeforeValidator(_as_list), Field(min_length=1)]
"""The union of regions. In YAML, a single region needs no list."""


def _region_tag(value: Any) -> str:
    is_band = isinstance(value, PathRegion) or (isinstance(value, dict) and "along_path" in value)
    return "PathRegion" if is_band else "Region"


ObstacleRegion = Annotated[
    Union[Annotated[Region, Tag("Region")], Annotated[PathRegion, Tag("PathRegion")]],
    Discriminator(_region_tag),
]
ObstacleRegions = Annotated[List[ObstacleRegion], BeforeValidator(_as_list), Field(min_length=1)]
"""The union of regions of random obstacles. In YAML, a single region needs no list."""


def union_of(regions: Sequence[Union[Region, PathRegion]]) -> shapely.Geometry:
    """Return the union of all ``regions`` (m, world frame)."""
    return shapely.unary_union([region.geometry for region in regions])
