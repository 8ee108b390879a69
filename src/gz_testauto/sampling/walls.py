"""Obstacle kinds that consist of walls with doors: ``wall`` and ``room``.

The walls of an obstacle are one static model. Other obstacles can be placed inside a room.
:mod:`~gz_testauto.sampling.assembled` defines the common parts.
"""

from typing import ClassVar, List, NamedTuple, Optional, Tuple

from pydantic import Field, model_validator
from typing_extensions import Literal

from gz_testauto.sampling.assembled import (
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

DENSITY_KGPM3 = 100.0
"""Density (kg/m³) of walls, from which the mass in the manifest is computed."""


class Piece(NamedTuple):
    """A part of a wall, in the model frame: its center and its sizes along x and y (m)."""

    x_m: float
    y_m: float
    size_x_m: float
    size_y_m: float

    def of_height(self, height_m: float) -> BoxPart:
        """Return the box of this height."""
        x_m, y_m, size_x_m, size_y_m = self
        return BoxPart(x_m, y_m, height_m / 2, size_x_m, size_y_m, height_m)


class WallKind(AssembledKind):
    """The base class of obstacle kinds that consist of walls."""

    height_index: ClassVar[int]
    """Index of the height in a size."""
    color: ClassVar[str] = "0.75 0.75 0.7 1"
    part_name: ClassVar[str] = "wall"
    can_be_pushed: ClassVar[bool] = False

    thickness_m: Optional[PositiveDistribution] = None
    """Thickness (m) of the walls; default: 0.1."""
    height_m: Optional[PositiveDistribution] = None
    """Height (m) of the walls; default: 2."""
    door_position: Optional[ShareDistribution] = None
    """Position of the doors in their walls, from 0 for the end with the smallest coordinate in the
    frame of the model to 1 for the other end; default: 0.5, the middle."""
    door_clear_m: float = Field(0.0, ge=0, allow_inf_nan=False)
    """Distance (m) in front of and behind each door, over its width, in which no other obstacle is
    placed; default: 0, so that obstacles can be in the doors."""

    @model_validator(mode="after")
    def _require_walls(self) -> "WallKind":
        for door, length in self._doors():
            widest, shortest = self.bound(door, 1), self.bound(length, 0)
            if widest >= shortest:
                raise ValueError(
                    f"{door} can be {widest:g}, and {length} can be {shortest:g}; the door must be "
                    "narrower than its wall"
                )
        return self

    @classmethod
    def _doors(cls) -> List[Tuple[str, str]]:
        """Return the names of the width of each door and of the length of its wall."""
        raise NotImplementedError

    @classmethod
    def pieces(cls, size: Size) -> List[Piece]:
        """Return the boxes of the walls of the given size."""
        raise NotImplementedError

    @classmethod
    def doors(cls, size: Size, depth_m: float) -> List[Piece]:
        """Return a box at each door of walls of the given size: as wide as the door, and
        ``depth_m`` deep, half of it on each side of the middle of the wall."""
        raise NotImplementedError

    def passages(self, size: Size) -> Optional[Outline]:
        """Return the doors and the areas within ``door_clear_m`` of them, or None if the walls
        have no doors, or if obstacles can be in the doors."""
        if self.door_clear_m == 0.0:
            return None
        thickness_m = size[self.size_names.index("thickness_m")]
        doors = self.doors(size, thickness_m + 2 * self.door_clear_m)
        if not doors:
            return None
        return outline_of_boxes([door.of_height(1.0) for door in doors])

    @classmethod
    def parts_of(cls, size: Size) -> List[BoxPart]:
        """Return the boxes of the walls."""
        height_m = size[cls.height_index]
        return [piece.of_height(height_m) for piece in cls.pieces(size)]

    @classmethod
    def cut(cls, model: ObstacleModel, size: Size, heights: Heights) -> Optional[Outline]:
        """Return None, since walls have the same outline at each height."""
        return None

    @classmethod
    def mass_kg(cls, own: Size, own_kg: float, size: Size, density_kgpm3: Optional[float]) -> float:
        """Return the mass (kg) of the walls."""
        return DENSITY_KGPM3 * outline_of_boxes(cls.parts_of(size)).area_m2 * size[cls.height_index]


class WallObstacles(WallKind):
    """Straight walls along x, each with a door or without one. The wall is open at its full height
    at the door."""

    height_index: ClassVar[int] = 2
    default_size: ClassVar[Size] = (2.0, 0.1, 2.0, 0.0, 0.5)
    size_names: ClassVar[Tuple[str, ...]] = (
        "length_m",
        "thickness_m",
        "height_m",
        "door_m",
        "door_position",
    )

    type: Literal["wall"]
    length_m: Optional[PositiveDistribution] = None
    """Length (m) of the wall, including the door; default: 2."""
    door_m: Optional[NotNegativeDistribution] = None
    """Width (m) of the door; default: 0, which is no door."""

    @classmethod
    def _doors(cls) -> List[Tuple[str, str]]:
        return [("door_m", "length_m")]

    @classmethod
    def pieces(cls, size: Size) -> List[Piece]:
        """Return the one or two boxes of the wall."""
        length, thickness, _, door, position = size
        return [
            Piece(center, 0.0, piece, thickness)
            for center, piece in _pieces_at_door(length, door, position)
        ]

    @classmethod
    def doors(cls, size: Size, depth_m: float) -> List[Piece]:
        """Return the box of the door."""
        length, _, _, door, position = size
        centers = _door_centers(length, door, position)
        return [Piece(center, 0.0, door, depth_m) for center in centers]


class RoomObstacles(WallKind):
    """Rectangular rooms of four walls, each with a door or without one."""

    height_index: ClassVar[int] = 3
    default_size: ClassVar[Size] = (4.0, 4.0, 0.1, 2.0, 0.0, 0.0, 0.0, 0.0, 0.5)
    size_names: ClassVar[Tuple[str, ...]] = (
        "size_x_m",
        "size_y_m",
        "thickness_m",
        "height_m",
        "door_south_m",
        "door_north_m",
        "door_west_m",
        "door_east_m",
        "door_position",
    )

    type: Literal["room"]
    size_x_m: Optional[PositiveDistribution] = None
    """Size (m) of the room along x, between the walls; default: 4."""
    size_y_m: Optional[PositiveDistribution] = None
    """Size (m) of the room along y, between the walls; default: 4."""
    door_south_m: Optional[NotNegativeDistribution] = None
    """Width (m) of the door in the wall at the smallest y; default: 0, which is no door."""
    door_north_m: Optional[NotNegativeDistribution] = None
    """Width (m) of the door in the wall at the largest y; default: 0."""
    door_west_m: Optional[NotNegativeDistribution] = None
    """Width (m) of the door in the wall at the smallest x; default: 0."""
    door_east_m: Optional[NotNegativeDistribution] = None
    """Width (m) of the door in the wall at the largest x; default: 0."""

    @classmethod
    def _doors(cls) -> List[Tuple[str, str]]:
        return [
            ("door_south_m", "size_x_m"),
            ("door_north_m", "size_x_m"),
            ("door_west_m", "size_y_m"),
            ("door_east_m", "size_y_m"),
        ]

    @classmethod
    def pieces(cls, size: Size) -> List[Piece]:
        """Return the boxes of the four walls. Those at the smallest and largest y include the
        corners."""
        size_x, size_y, thickness, _, south, north, west, east, position = size
        away_x, away_y = (size_x + thickness) / 2, (size_y + thickness) / 2
        found = [
            Piece(center, side * away_y, length, thickness)
            for side, door in ((-1, south), (1, north))
            for center, length in _pieces_at_door(size_x, door, position, thickness)
        ]
        found += [
            Piece(side * away_x, center, thickness, length)
            for side, door in ((-1, west), (1, east))
            for center, length in _pieces_at_door(size_y, door, position)
        ]
        return found

    @classmethod
    def doors(cls, size: Size, depth_m: float) -> List[Piece]:
        """Return the boxes of the doors in the four walls."""
        size_x, size_y, thickness, _, south, north, west, east, position = size
        away_x, away_y = (size_x + thickness) / 2, (size_y + thickness) / 2
        found = [
            Piece(center, side * away_y, door, depth_m)
            for side, door in ((-1, south), (1, north))
            for center in _door_centers(size_x, door, position)
        ]
        found += [
            Piece(side * away_x, center, depth_m, door)
            for side, door in ((-1, west), (1, east))
            for center in _door_centers(size_y, door, position)
        ]
        return found


def _door_centers(length_m: float, door_m: float, position: float) -> List[float]:
    """Return the center of the door in a wall that is centered on 0; empty without a door."""
    return [position * (length_m - door_m) + (door_m - length_m) / 2] if door_m > 0.0 else []


def _pieces_at_door(
    length_m: float, door_m: float, position: float, corner_m: float = 0.0
) -> List[Tuple[float, float]]:
    """Return the centers and lengths of the pieces of a wall that is centered on 0. ``corner_m`` is
    added at both ends."""
    if door_m <= 0.0:
        return [(0.0, length_m + 2 * corner_m)]
    left_m = position * (length_m - door_m) + corner_m
    right_m = length_m - door_m + 2 * corner_m - left_m
    end_m = length_m / 2 + corner_m
    pieces = [(left_m / 2 - end_m, left_m), (end_m - right_m / 2, right_m)]
    return [piece for piece in pieces if piece[1] > NEGLIGIBLE_M]
