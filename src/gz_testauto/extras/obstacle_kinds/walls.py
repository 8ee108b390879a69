"""The obstacle kinds ``wall`` and ``room``: walls with doors, as one static model. Other obstacles
can be placed inside a room."""

from typing import ClassVar, List, NamedTuple, Optional, Tuple

from pydantic import Field
from typing_extensions import Literal

from gz_testauto.extras.obstacle_kinds.assembled import (
    NEGLIGIBLE_M,
    AssembledKind,
    BoxPart,
    outline_of_boxes,
)
from gz_testauto.sampling.models import ObstacleModel, Size
from gz_testauto.sampling.outline import Outline
from gz_testauto.sdf.floor import Heights
from gz_testauto.spec.distributions import (
    NotNegativeDistribution,
    PositiveDistribution,
    ShareDistribution,
)
from gz_testauto.spec.obstacles import size_key


class Wall(NamedTuple):
    """A wall along x or y with a door of the width ``door_m`` (0: none). ``corner_m`` is added at
    both ends, and ``offset_m`` is the coordinate along the other axis."""

    length_m: float
    door_m: float
    corner_m: float = 0.0
    offset_m: float = 0.0
    is_along_y: bool = False

    def part(self, center_m: float, length_m: float, depth_m: float, height_m: float) -> BoxPart:
        """Return a box of the wall; ``center_m`` and ``length_m`` are along it, ``depth_m`` across
        it."""
        if self.is_along_y:
            return BoxPart(self.offset_m, center_m, height_m / 2, depth_m, length_m, height_m)
        return BoxPart(center_m, self.offset_m, height_m / 2, length_m, depth_m, height_m)

    def pieces(self, position: float) -> List[Tuple[float, float]]:
        """Return center and length (m), along the wall, of the parts on both sides of the door.

        ``position`` of the door is from 0, at the start of the wall, to 1.
        """
        length_m, door_m, corner_m = self[:3]
        if door_m <= 0.0:
            return [(0.0, length_m + 2 * corner_m)]
        left_m = position * (length_m - door_m) + corner_m
        right_m = length_m - door_m + 2 * corner_m - left_m
        end_m = length_m / 2 + corner_m
        pieces = [(left_m / 2 - end_m, left_m), (end_m - right_m / 2, right_m)]
        return [piece for piece in pieces if piece[1] > NEGLIGIBLE_M]


class WallKind(AssembledKind):
    """The base class of obstacle kinds of walls. Their last size is the position of the doors,
    from 0 at the start of a wall to 1."""

    color: ClassVar[str] = "0.75 0.75 0.7 1"
    part_name: ClassVar[str] = "wall"
    can_be_pushed: ClassVar[bool] = False
    density_default_kgpm3: ClassVar[float] = 100.0

    door_clear_m: float = Field(0.0, ge=0, allow_inf_nan=False)
    """Distance (m) in front of and behind each door, over its width, in which no other obstacle is
    placed. With 0, obstacles can be in the doors."""

    @classmethod
    def walls_of(cls, size: Size) -> List[Wall]:
        raise NotImplementedError

    @classmethod
    def value(cls, size: Size, name: str) -> float:
        return size[cls.size_names.index(name)]

    def passages(self, size: Size) -> Optional[Outline]:
        if self.door_clear_m == 0.0:
            return None
        depth_m = self.value(size, "thickness_m") + 2 * self.door_clear_m
        doors = []
        for wall in self.walls_of(size):
            length_m, door_m = wall[:2]
            if door_m > 0.0:
                center_m = size[-1] * (length_m - door_m) + (door_m - length_m) / 2
                doors.append(wall.part(center_m, door_m, depth_m, 1.0))
        return outline_of_boxes(doors) if doors else None

    @classmethod
    def parts_of(cls, size: Size) -> List[BoxPart]:
        thickness_m, height_m = (cls.value(size, name) for name in ("thickness_m", "height_m"))
        return [
            wall.part(center_m, length_m, thickness_m, height_m)
            for wall in cls.walls_of(size)
            for center_m, length_m in wall.pieces(size[-1])
        ]

    @classmethod
    def cut(cls, model: ObstacleModel, size: Size, heights: Heights) -> Optional[Outline]:
        # walls have the same outline at each height
        return None

    @classmethod
    def mass_kg(
        cls, model_size: Size, model_kg: float, size: Size, density_kgpm3: Optional[float]
    ) -> float:
        area_m2 = outline_of_boxes(cls.parts_of(size)).area_m2
        return cls.density_default_kgpm3 * area_m2 * cls.value(size, "height_m")


class WallObstacles(WallKind):
    """Straight walls along x, each with a door or without one. The wall is open at its full height
    at the door."""

    fits: ClassVar[Tuple[Tuple[float, str, str], ...]] = ((1, "door_m", "length_m"),)

    type: Literal["wall"]
    length_m: Optional[PositiveDistribution] = size_key(2.0)
    """Length (m) of the wall, including the door."""
    thickness_m: Optional[PositiveDistribution] = size_key(0.1)
    """Thickness (m) of the walls."""
    height_m: Optional[PositiveDistribution] = size_key(2.0)
    """Height (m) of the walls."""
    door_m: Optional[NotNegativeDistribution] = size_key(0.0)
    """Width (m) of the door; 0 is no door."""
    door_position: Optional[ShareDistribution] = size_key(0.5)
    """Position of the doors in their walls, from 0 for the end with the smallest coordinate in the
    frame of the model to 1 for the other end."""

    @classmethod
    def walls_of(cls, size: Size) -> List[Wall]:
        return [Wall(cls.value(size, "length_m"), cls.value(size, "door_m"))]


class RoomObstacles(WallKind):
    """Rectangular rooms of four walls, each with a door or without one."""

    fits: ClassVar[Tuple[Tuple[float, str, str], ...]] = (
        (1, "door_south_m", "size_x_m"),
        (1, "door_north_m", "size_x_m"),
        (1, "door_west_m", "size_y_m"),
        (1, "door_east_m", "size_y_m"),
    )

    type: Literal["room"]
    size_x_m: Optional[PositiveDistribution] = size_key(4.0)
    """Size (m) of the room along x, between the walls."""
    size_y_m: Optional[PositiveDistribution] = size_key(4.0)
    """Size (m) of the room along y, between the walls."""
    thickness_m: Optional[PositiveDistribution] = size_key(0.1)
    """Thickness (m) of the walls."""
    height_m: Optional[PositiveDistribution] = size_key(2.0)
    """Height (m) of the walls."""
    door_south_m: Optional[NotNegativeDistribution] = size_key(0.0)
    """Width (m) of the door in the wall at the smallest y; 0 is no door."""
    door_north_m: Optional[NotNegativeDistribution] = size_key(0.0)
    """Width (m) of the door in the wall at the largest y."""
    door_west_m: Optional[NotNegativeDistribution] = size_key(0.0)
    """Width (m) of the door in the wall at the smallest x."""
    door_east_m: Optional[NotNegativeDistribution] = size_key(0.0)
    """Width (m) of the door in the wall at the largest x."""
    door_position: Optional[ShareDistribution] = size_key(0.5)
    """Position of the doors in their walls, from 0 for the end with the smallest coordinate in the
    frame of the model to 1 for the other end."""

    @classmethod
    def walls_of(cls, size: Size) -> List[Wall]:
        # the walls along x include the corners
        size_x, size_y, thickness, _, south, north, west, east, _ = size
        x, y = (size_x + thickness) / 2, (size_y + thickness) / 2
        return [
            Wall(size_x, south, thickness, -y),
            Wall(size_x, north, thickness, y),
            Wall(size_y, west, 0.0, -x, True),
            Wall(size_y, east, 0.0, x, True),
        ]
