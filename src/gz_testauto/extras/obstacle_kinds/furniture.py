"""Obstacle kinds of boxes: furniture, pallets, frames and concave shapes."""

import math
from typing import ClassVar, List, Optional, Tuple

from pydantic import Field
from typing_extensions import Literal

from gz_testauto.extras.obstacle_kinds.assembled import (
    NEGLIGIBLE_M,
    AssembledKind,
    BoxPart,
    outline_of_boxes,
)
from gz_testauto.sampling.models import Size
from gz_testauto.sampling.outline import Outline
from gz_testauto.spec.distributions import NotNegativeDistribution, PositiveDistribution
from gz_testauto.spec.model import LARGEST
from gz_testauto.spec.obstacles import size_key

WOOD = "0.6 0.42 0.25 1"
_between = BoxPart.between


class FurnitureKind(AssembledKind):
    """The base class of obstacle kinds with a density."""

    density_kgpm3: Optional[float] = Field(None, gt=0, le=LARGEST)
    """Density (kg/m³), from which the mass is computed; default: 600, as wood."""


class TableObstacles(FurnitureKind):
    """Tables with four square legs at the corners of a rectangular top."""

    color: ClassVar[str] = WOOD
    fits: ClassVar[Tuple[Tuple[float, str, str], ...]] = (
        (2, "leg_width_m", "size_x_m"),
        (2, "leg_width_m", "size_y_m"),
        (1, "top_thickness_m", "height_m"),
    )

    type: Literal["table"]
    size_x_m: Optional[PositiveDistribution] = size_key(1.2)
    """Length (m) of the top along x."""
    size_y_m: Optional[PositiveDistribution] = size_key(0.8)
    """Length (m) of the top along y."""
    height_m: Optional[PositiveDistribution] = size_key(0.75)
    """Height (m) of the upper side of the top."""
    top_thickness_m: Optional[PositiveDistribution] = size_key(0.03)
    """Thickness (m) of the top."""
    leg_width_m: Optional[PositiveDistribution] = size_key(0.06)
    """Width (m) of the legs."""

    @classmethod
    def parts_of(cls, size: Size) -> List[BoxPart]:
        size_x, size_y, height, top, leg = size
        under = height - top
        return [
            _centered_slab(size_x, size_y, under, height),
            *_corner_legs(size_x, size_y, leg, under),
        ]


class ChairObstacles(FurnitureKind):
    """Chairs that face +x: a seat on four square legs, and a back at the smallest x."""

    color: ClassVar[str] = "0.45 0.3 0.2 1"
    fits: ClassVar[Tuple[Tuple[float, str, str], ...]] = (
        (2, "leg_width_m", "size_x_m"),
        (2, "leg_width_m", "size_y_m"),
        (1, "thickness_m", "size_x_m"),
        (1, "thickness_m", "seat_height_m"),
        (1, "seat_height_m", "height_m"),
    )

    type: Literal["chair"]
    size_x_m: Optional[PositiveDistribution] = size_key(0.45)
    """Depth (m) of the seat along x."""
    size_y_m: Optional[PositiveDistribution] = size_key(0.45)
    """Width (m) of the seat along y."""
    seat_height_m: Optional[PositiveDistribution] = size_key(0.46)
    """Height (m) of the upper side of the seat."""
    height_m: Optional[PositiveDistribution] = size_key(0.9)
    """Height (m) of the upper end of the back."""
    thickness_m: Optional[PositiveDistribution] = size_key(0.03)
    """Thickness (m) of the seat and of the back."""
    leg_width_m: Optional[PositiveDistribution] = size_key(0.04)
    """Width (m) of the legs."""

    @classmethod
    def parts_of(cls, size: Size) -> List[BoxPart]:
        size_x, size_y, seat, height, thickness, leg = size
        under = seat - thickness
        x, y = -size_x / 2, size_y / 2
        back = _between((x, -y, seat), (x + thickness, y, height))
        return [
            _centered_slab(size_x, size_y, under, seat),
            *_corner_legs(size_x, size_y, leg, under),
            back,
        ]


class ShelfObstacles(FurnitureKind):
    """Open racks: boards between four square posts. A low robot can drive below the lowest
    board."""

    color: ClassVar[str] = "0.5 0.52 0.55 1"
    fits: ClassVar[Tuple[Tuple[float, str, str], ...]] = (
        (2, "post_width_m", "size_x_m"),
        (2, "post_width_m", "size_y_m"),
        (1, "lowest_m", "height_m"),
        (2, "board_thickness_m", "height_m"),
        (1, "board_thickness_m", "board_distance_m"),
    )

    type: Literal["shelf"]
    size_x_m: Optional[PositiveDistribution] = size_key(1.0)
    """Width (m) of the shelf along x."""
    size_y_m: Optional[PositiveDistribution] = size_key(0.4)
    """Depth (m) of the shelf along y."""
    height_m: Optional[PositiveDistribution] = size_key(1.8)
    """Height (m) of the posts and of the highest board."""
    lowest_m: Optional[NotNegativeDistribution] = size_key(0.1)
    """Height (m) of the free space below the lowest board."""
    board_distance_m: Optional[PositiveDistribution] = size_key(0.4)
    """Largest distance (m) between neighboring boards, which are equally spaced."""
    board_thickness_m: Optional[PositiveDistribution] = size_key(0.025)
    """Thickness (m) of the boards."""
    post_width_m: Optional[PositiveDistribution] = size_key(0.05)
    """Width (m) of the posts."""

    @classmethod
    def parts_of(cls, size: Size) -> List[BoxPart]:
        size_x, size_y, height, lowest, distance, board, post = size
        span = height - board - lowest
        if span < board:
            levels, board = [lowest], height - lowest
        else:
            gaps = min(max(1, math.ceil(span / distance - 1e-9)), int(span / board))
            levels = [lowest + span * gap / gaps for gap in range(gaps + 1)]
        boards = [_centered_slab(size_x - 2 * post, size_y, low, low + board) for low in levels]
        return [*boards, *_corner_legs(size_x, size_y, post, height)]


class DoorFrameObstacles(FurnitureKind):
    """Door frames without a door: two posts along x, and a lintel on them."""

    color: ClassVar[str] = "0.8 0.75 0.6 1"

    type: Literal["door_frame"]
    door_m: Optional[PositiveDistribution] = size_key(0.9)
    """Width (m) of the opening."""
    door_height_m: Optional[PositiveDistribution] = size_key(2.0)
    """Height (m) of the opening."""
    frame_width_m: Optional[PositiveDistribution] = size_key(0.1)
    """Width (m) of the posts along x, and height of the lintel."""
    thickness_m: Optional[PositiveDistribution] = size_key(0.15)
    """Depth (m) of the frame along y."""
    door_clear_m: float = Field(0.0, ge=0, allow_inf_nan=False)
    """Distance (m) in front of and behind the opening, over its width, in which no other obstacle
    is placed."""

    @classmethod
    def parts_of(cls, size: Size) -> List[BoxPart]:
        door, height, frame, thickness = size
        inner, outer, y = door / 2, door / 2 + frame, thickness / 2
        return [
            _between((-outer, -y, 0.0), (-inner, y, height)),
            _between((inner, -y, 0.0), (outer, y, height)),
            _between((-outer, -y, height), (outer, y, height + frame)),
        ]

    def passages(self, size: Size) -> Optional[Outline]:
        if self.door_clear_m == 0.0:
            return None
        x, y = size[0] / 2, size[3] / 2 + self.door_clear_m
        return outline_of_boxes([_between((-x, -y, 0.0), (x, y, size[1]))])


class UShapeObstacles(FurnitureKind):
    """Three walls around a dead end that is open towards +x."""

    color: ClassVar[str] = "0.75 0.45 0.35 1"
    fits: ClassVar[Tuple[Tuple[float, str, str], ...]] = (
        (1, "thickness_m", "size_x_m"),
        (2, "thickness_m", "size_y_m"),
    )

    type: Literal["u_shape"]
    size_x_m: Optional[PositiveDistribution] = size_key(1.5)
    """Outer length (m) along x, from the closed to the open side."""
    size_y_m: Optional[PositiveDistribution] = size_key(1.5)
    """Outer length (m) along y."""
    thickness_m: Optional[PositiveDistribution] = size_key(0.1)
    """Thickness (m) of the walls."""
    height_m: Optional[PositiveDistribution] = size_key(1.0)
    """Height (m) of the walls."""

    @classmethod
    def parts_of(cls, size: Size) -> List[BoxPart]:
        size_x, size_y, thickness, height = size
        x, y, inner = size_x / 2, size_y / 2, size_y / 2 - thickness
        return [
            _between((-x, -y, 0.0), (thickness - x, y, height)),
            _between((thickness - x, -y, 0.0), (x, -inner, height)),
            _between((thickness - x, inner, 0.0), (x, y, height)),
        ]


class LBoxObstacles(FurnitureKind):
    """Boxes with an L-shaped outline: one arm along x, and one along y, which meet at the smallest
    x and y."""

    color: ClassVar[str] = "0.85 0.55 0.25 1"
    fits: ClassVar[Tuple[Tuple[float, str, str], ...]] = (
        (1, "thickness_m", "size_x_m"),
        (1, "thickness_m", "size_y_m"),
    )

    type: Literal["l_box"]
    size_x_m: Optional[PositiveDistribution] = size_key(1.0)
    """Length (m) of the arm along x."""
    size_y_m: Optional[PositiveDistribution] = size_key(1.0)
    """Length (m) of the arm along y."""
    thickness_m: Optional[PositiveDistribution] = size_key(0.4)
    """Thickness (m) of both arms."""
    height_m: Optional[PositiveDistribution] = size_key(0.6)
    """Height (m) of the box."""

    @classmethod
    def parts_of(cls, size: Size) -> List[BoxPart]:
        size_x, size_y, thickness, height = size
        x, y = -size_x / 2, -size_y / 2
        return [
            _between((x, y, 0.0), (-x, y + thickness, height)),
            _between((x, y + thickness, 0.0), (x + thickness, -y, height)),
        ]


class PalletObstacles(FurnitureKind):
    """Pallets with the structure of an EUR pallet: three runners along x, nine blocks and a deck,
    with an optional load. A lidar above the deck does not detect an empty pallet."""

    color: ClassVar[str] = "0.75 0.6 0.4 1"
    fits: ClassVar[Tuple[Tuple[float, str, str], ...]] = (
        (3, "block_width_m", "size_x_m"),
        (3, "block_width_m", "size_y_m"),
        (2, "board_thickness_m", "height_m"),
    )

    type: Literal["pallet"]
    size_x_m: Optional[PositiveDistribution] = size_key(1.2)
    """Length (m) along x."""
    size_y_m: Optional[PositiveDistribution] = size_key(0.8)
    """Length (m) along y."""
    height_m: Optional[PositiveDistribution] = size_key(0.144)
    """Height (m) of the upper side of the deck."""
    board_thickness_m: Optional[PositiveDistribution] = size_key(0.022)
    """Thickness (m) of the deck and of the runners."""
    block_width_m: Optional[PositiveDistribution] = size_key(0.1)
    """Width (m) of the blocks and of the runners."""
    load_height_m: Optional[NotNegativeDistribution] = size_key(0.0)
    """Height (m) of a load that covers the deck; 0 is no load."""

    @classmethod
    def parts_of(cls, size: Size) -> List[BoxPart]:
        size_x, size_y, height, board, block, load = size
        deck = height - board
        columns, rows = ((-side / 2, -block / 2, side / 2 - block) for side in (size_x, size_y))
        parts = [_between((-size_x / 2, y, 0.0), (size_x / 2, y + block, board)) for y in rows]
        parts += [
            _between((x, y, board), (x + block, y + block, deck)) for x in columns for y in rows
        ]
        parts.append(_centered_slab(size_x, size_y, deck, height))
        if load > NEGLIGIBLE_M:
            parts.append(_centered_slab(size_x, size_y, height, height + load))
        return parts


def _centered_slab(size_x_m: float, size_y_m: float, low_m: float, high_m: float) -> BoxPart:
    return BoxPart(0.0, 0.0, (low_m + high_m) / 2, size_x_m, size_y_m, high_m - low_m)


def _corner_legs(
    size_x_m: float, size_y_m: float, width_m: float, height_m: float
) -> List[BoxPart]:
    x, y = (size_x_m - width_m) / 2, (size_y_m - width_m) / 2
    return [
        BoxPart(sign_x * x, sign_y * y, height_m / 2, width_m, width_m, height_m)
        for sign_x in (-1, 1)
        for sign_y in (-1, 1)
    ]
