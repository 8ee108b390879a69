"""The base class of all objects in Scenic programs, which rest on a surface by default.

An object without an explicit height is placed on the ground, or on the surface of the object next
to it. A position has an explicit height if it comes from ``on``, ``above`` or ``below``. Its z is
also explicit unless z is 0, or equal to the center of an object that rests on a surface. So ``at
table offset by 1 @ 0`` is next to the table, and not in the air at half the height of the table.
"""

import inspect
from typing import Any, ClassVar, Dict, List, Optional, Tuple

from scenic.core.distributions import RejectionException, distributionFunction, needsSampling
from scenic.core.lazy_eval import (
    DelayedArgument,
    isLazy,
    requiredProperties,
    valueInContext,
)
from scenic.core.object_types import Object
from scenic.core.regions import (
    PointInRegionDistribution,
    PolygonalFootprintRegion,
    PolygonalRegion,
)
from scenic.core.specifiers import ModifyingSpecifier, PropertyDefault, Specifier
from scenic.core.vectors import Orientation, Vector

from gz_testauto.extras.scenic.language.compiler import (
    raise_if_not_overridable,
    raise_if_without_effect,
)
from gz_testauto.extras.scenic.properties import CHECKED, check_property
from gz_testauto.extras.scenic.support import (
    SAME_HEIGHT_M,
    TOUCH_M,
    rest_facing,
    rest_height,
    upright_height,
)

WALLS_MAY_SHARE_M = 5e-4  # allowed overlap of each of two walls, which touch at corners

_OWN_HEIGHT = ("On", "Above", "Below")
_DIRECT = ("FacingDirectlyToward", "FacingDirectlyAwayFrom")
_BESIDE = ("Left of", "Right of", "Ahead of", "Behind")


class Levels:
    """A map from the height (m) of an object's center to that of the surface on which the object
    rests."""

    def __init__(self) -> None:
        self._base: Dict[float, float] = {}

    def note(self, middle: float, base: float) -> None:
        self._base.setdefault(middle, base)

    def base_of(self, z: float) -> Optional[float]:
        """Return the height (m) of the surface below an object with its center at ``z``, or None if
        ``z`` is an explicit height."""
        if abs(z) < SAME_HEIGHT_M:
            return 0.0
        for middle, base in self._base.items():
            if abs(z - middle) < SAME_HEIGHT_M:
                return base
        return None


_CURRENT = [Levels()]  # heights of the program that is being compiled


_PROGRAM: List[Tuple[str, int]] = [("", 0)]
"""File of the program that is being compiled, and number of lines added before it."""


def begin_scenario(path: str, added: int) -> None:
    _CURRENT[0] = Levels()
    _PROGRAM[0] = (path, added)


_STACKED = Specifier("Stacked", {"stacked": 1, "stands": 1}, {"stacked": True, "stands": True})


class SceneObject(Object):
    """An object of a scene.

    ``gz_model`` is None for an object that only the program describes. ``restHeight`` (m) is the
    height of the center above the surface on which the object rests. ``supportLevel`` (m) is the
    height of this surface if it belongs to an adjacent object, else None. A ``stacked`` object was
    placed ``on`` another one. ``stands`` is True if it was placed there or on the ground, without
    an explicit height.
    """

    _scenic_properties: ClassVar[Dict[str, Any]] = {
        "baseOffset": PropertyDefault(
            {"restHeight"}, set(), lambda self: Vector(0, 0, -self.restHeight)
        ),
        "restHeight": PropertyDefault(
            {"shape", "width", "length", "height", "pitch", "roll"},
            set(),
            lambda self: rest_height(
                self.shape, self.width, self.length, self.height, self.pitch, self.roll
            ),
        ),
        "contactTolerance": TOUCH_M,
        "gz_model": None,
        "static": True,
        "is_wall": False,
        "supportLevel": None,
        "stacked": False,
        "stands": False,
    }

    def __init__(self, properties: Dict[str, Any], *args: Any, **options: Any) -> None:
        for name in CHECKED:
            check_property(type(self).__name__, name, properties.get(name))
        super().__init__(properties, *args, **options)

    @classmethod
    def _specify(cls, context: Any, prop: str, value: Any) -> None:
        check_property(cls.__name__, prop, value)
        super()._specify(context, prop, value)

    @classmethod
    def _prepareSpecifiers(cls, specifiers: Any) -> Any:
        specifiers = list(specifiers)
        specifiers += cls._matching_sizes(specifiers)
        specifiers = cls._level(specifiers)
        names = [spec.name for spec in specifiers]
        if "On" in names:
            specifiers.append(_STACKED)
        if any(name in _OWN_HEIGHT for name in names):
            return specifiers
        origin = next((spec for spec in specifiers if spec.name == "With(z)"), None)
        if origin is not None:
            specifiers.remove(origin)
        placing = next((spec for spec in specifiers if "position" in spec.priorities), None)
        if placing is None:
            placing = cls._defaults["position"]
            specifiers.append(placing)
        direct = next((spec for spec in specifiers if spec.name in _DIRECT), None)
        value = None if origin is None else origin.value
        specifiers.append(cls._standing_specifier(placing, value, direct))
        return specifiers

    @classmethod
    def _level(cls, specifiers: List[Any]) -> List[Any]:
        """Return specifiers that also keep an object upright, or align it with an adjacent one."""
        relative = any("parentOrientation" in spec.priorities for spec in specifiers)
        states_parent_first = (
            cls._first_stated_property(("yaw", "parentOrientation")) == "parentOrientation"
        )
        # an object that is rotated only about the vertical must not lean
        if not relative and not cls._states_orientation():
            specifiers = [_face_horizontally(spec) for spec in specifiers]
        leaning = [spec for spec in specifiers if {"pitch", "roll"} & set(spec.priorities)]
        specified = {name for spec in specifiers for name in spec.priorities}
        upright = leaning and all(_scalar_facing(spec) is not None for spec in leaning)
        if upright or any("position" in spec.requiredProperties for spec in leaning):
            # otherwise its position could depend on its inclination, and that on its position
            upright_rest = DelayedArgument(
                {"shape", "height"},
                lambda self: {"restHeight": upright_height(self.shape, self.height)},
            )
            specifiers.append(Specifier("Upright", {"restHeight": 1}, upright_rest))
        elif any(spec.name == "On" for spec in specifiers):
            specifiers += _resting_as_it_faces(leaning)
        aligned = any(
            "parentOrientation" in spec.priorities and spec.name != "On" for spec in specifiers
        )
        if (aligned or states_parent_first) and "yaw" not in specified:
            specifiers.append(Specifier("Aligned", {"yaw": 1}, {"yaw": 0.0}))
        return specifiers

    @classmethod
    def _first_stated_property(cls, names: Tuple[str, ...]) -> Optional[str]:
        """Return the first of ``names`` that the most derived class defines, or None."""
        for ancestor in cls.__mro__:
            stated = ancestor.__dict__.get("_scenic_properties", {})
            for name in names:
                if name in stated:
                    return name
        return None

    @classmethod
    def _states_orientation(cls) -> bool:
        return any(
            "parentOrientation" in ancestor.__dict__.get("_scenic_properties", {})
            for ancestor in cls.__mro__[: cls.__mro__.index(SceneObject)]
        )

    @classmethod
    def _matching_sizes(cls, specifiers: List[Any]) -> List[Any]:
        """Return specifiers that apply a specified size of a round model to its other round
        axes."""
        together = getattr(cls, "_round_together", ())
        sizes = {name: spec for spec in specifiers for name in spec.priorities if name in together}
        if not sizes:
            return []
        value = next(iter(sizes.values())).value
        specified = next(iter(sizes))
        return [
            Specifier(
                f"With({name})",
                {name: 1},
                DelayedArgument(
                    set(requiredProperties(value)),
                    lambda context, name=name: {name: valueInContext(value, context)[specified]},
                ),
            )
            for name in together
            if name not in sizes
        ]

    @classmethod
    def _standing_specifier(cls, placing: Any, origin: Any, direct: Any) -> Any:
        """Return the specifier that puts an object on its surface, at the position of ``placing``.
        ``origin`` is an explicit z or None, ``direct`` a specifier that faces a point or None."""
        reference, levels, target = _reference(placing), _CURRENT[0], _faced_position(direct)
        origin_z = getattr(cls, "_origin_z", None)
        needed = {"restHeight", "contactTolerance"}
        if target is not None:
            needed |= {"shape", "width", "length", "height"}
        if origin_z is not None:
            needed |= {"height"}
        if origin is not None:
            needed |= set(requiredProperties(origin)) | {"height"}

        def position_object(context: Any) -> Dict[str, Any]:
            position = context.position
            rest_m = context.restHeight + context.contactTolerance / 2
            if origin_z is not None:
                rest_m = origin_z + cls._middle_over_origin(context)
            if origin is not None:
                z = valueInContext(origin, context)["z"] + cls._middle_over_origin(context)
                here = Vector(position.x, position.y, z)
                return {"position": here, "supportLevel": None, "stands": False}
            if target is not None:
                size = (context.width, context.length, context.height)
                away = direct.name == "FacingDirectlyAwayFrom"
                rest_m = rest_facing(context.shape, *size, position, target, away)
                rest_m = rest_m + context.contactTolerance / 2
            if _is_on_ground_plane(position):
                _note_level(levels, rest_m, 0.0)
                here = position + Vector(0, 0, rest_m)
                return {"position": here, "supportLevel": None, "stands": True}
            level, middle, stands = None, None, False
            if reference is not None:
                middle, stands = reference.position.z, reference.stands
                level = middle - reference.restHeight - reference.contactTolerance / 2
            always = placing.name in ("Beyond", "Following")
            placed = put_down(position, rest_m, level, middle, stands, always, levels)
            if not isLazy(placed):
                _note_level(levels, placed.z, placed.z - rest_m)
            elif reference is None:
                _note_level(levels, rest_m, 0.0)
            lifted = was_put_down(position, placed, stands)
            support_m = None if level is None else support_level(level, stands)
            return {"position": placed, "supportLevel": support_m, "stands": lifted}

        priorities = {
            "position": max(1, placing.priorities["position"]),
            "supportLevel": 1,
            "stands": 1,
        }
        return ModifyingSpecifier(
            "Standing", priorities, DelayedArgument(needed, position_object), {"position"}
        )

    @classmethod
    def _middle_over_origin(cls, context: Any) -> Any:
        """Return the height (m) of the object's middle over the origin of its model."""
        share = getattr(cls, "_middle_share", 0.0)
        return share * context.height

    def __setattr__(self, name: str, value: Any) -> None:
        raise_if_without_effect(self, name)
        super().__setattr__(name, value)

    def _override(self, specifiers: Any) -> Any:
        raise_if_not_overridable(self, (name for spec in specifiers for name in spec.priorities))
        return super()._override(specifiers)

    def _register(self) -> None:
        self._place = _place_in_program()
        super()._register()

    def __str__(self) -> str:
        place = getattr(self, "_place", None)
        return super().__str__() + ("" if place is None else f" ({place})")

    def intersects(self, other: Any) -> bool:
        """Return whether two objects intersect; False for two walls that only touch."""
        if self.is_wall and getattr(other, "is_wall", False):
            shared = self._boundingPolygon.buffer(-WALLS_MAY_SHARE_M).intersects(
                other._boundingPolygon.buffer(-WALLS_MAY_SHARE_M)
            )
            return bool(shared) and abs(self.position.z - other.position.z) < (
                (self.height + other.height) / 2
            )
        return bool(super().intersects(other))


def _place_in_program() -> Optional[str]:
    """Return the file and line at which the program creates an object, or None."""
    path, added = _PROGRAM[0]
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_filename == path:
            return f"{path}:{max(1, frame.f_lineno - added)}"
        frame = frame.f_back
    return None


def _orientation(facing: Any) -> Any:
    """Return the orientation of a ``facing`` specifier with three angles, otherwise None."""
    if facing.name != "Facing" or "roll" not in facing.priorities:
        return None
    function = getattr(facing.value, "value", None)
    if function is None:
        return None
    return inspect.getclosurevars(function).nonlocals.get("orientation")


def _resting_as_it_faces(leaning: List[Any]) -> List[Any]:
    """Return a list with a specifier for the height of an object ``on`` another object and
    ``facing`` three angles. The list is empty without this ``facing``."""
    # Scenic computes pitch and roll relative to the surface, and thus late: the inclination would
    # depend on the position, and the position on the height of the inclined object. The orientation
    # in the world does not depend on the surface.
    for spec in leaning:
        orientation = _orientation(spec)
        if orientation is None:
            continue

        def rest(context: Any, orientation: Any = orientation) -> Dict[str, Any]:
            faced = valueInContext(orientation, context)
            size = (context.width, context.length, context.height)
            height = rest_height(context.shape, *size, faced.pitch, faced.roll)
            return {"restHeight": height}

        needed = {"shape", "width", "length", "height", *requiredProperties(orientation)}
        return [Specifier("Leaning", {"restHeight": 1}, DelayedArgument(needed, rest))]
    return []


def _scalar_facing(spec: Any) -> Any:
    """Return the heading of a ``facing`` specifier with one angle, otherwise None."""
    orientation = _orientation(spec)
    drawn = getattr(orientation, "_dist", None) if needsSampling(orientation) else None
    if drawn is not None:
        return drawn if getattr(drawn, "_valueType", None) in (float, int) else None
    if isinstance(orientation, Orientation) and not isLazy(orientation):
        yaw, pitch, roll = orientation.eulerAngles
        return float(yaw) if abs(pitch) + abs(roll) < SAME_HEIGHT_M else None
    return None


def _face_horizontally(spec: Any) -> Any:
    heading = _scalar_facing(spec)
    if heading is None:
        return spec
    angles = {"yaw": heading, "pitch": 0.0, "roll": 0.0}
    return Specifier("Facing", dict.fromkeys(angles, 1), angles)


def _note_level(levels: Levels, middle: Any, base: Any) -> None:
    if not any(needsSampling(value) or isLazy(value) for value in (middle, base)):
        levels.note(float(middle), float(base))


def _reference(placing: Any) -> Optional[Any]:
    """Return the :class:`SceneObject` next to which a specifier places another object, or None."""
    if placing.name in _BESIDE:
        function = getattr(placing.value, "value", None)
        reference = inspect.getclosurevars(function).nonlocals.get("pos") if function else None
    elif placing.name in ("OffsetBy", "OffsetAlong"):
        import scenic.syntax.veneer as veneer

        reference = veneer.ego()
    else:
        return None
    return reference if isinstance(reference, SceneObject) else None


def _faced_position(direct: Any) -> Any:
    function = None if direct is None else getattr(direct.value, "value", None)
    return inspect.getclosurevars(function).nonlocals.get("pos") if function else None


def _is_on_ground_plane(position: Any) -> bool:
    """Return whether a position is drawn from a flat region at height 0, which Scenic can prune."""
    if not isinstance(position, PointInRegionDistribution):
        return False
    region = getattr(position.region, "region", position.region)  # a workspace has one
    return isinstance(region, PolygonalRegion) and not needsSampling(region) and region.z == 0


@distributionFunction(valueType=Vector)
def put_down(
    position: Any,
    rest_m: float,
    level: Optional[float],
    middle: Optional[float],
    stands: bool,
    always: bool,
    levels: Levels,
) -> Any:
    """Return a position with the z of an object on its surface, or unchanged if its height is
    explicit.

    ``rest_m`` is the height of the object's center above the surface. ``middle`` is the height of
    the center of an adjacent object, and ``level`` that of the surface below it; both can be None.
    ``stands`` is True if that object rests on the surface. With ``always``, the surface of an
    object at any other height is the ground.
    """
    x, y, z = position
    if level is not None and middle is not None and abs(z - middle) < SAME_HEIGHT_M:
        return Vector(x, y, level + rest_m if stands else z)
    base = 0.0 if always else levels.base_of(z)
    return Vector(x, y, z if base is None else base + rest_m)


@distributionFunction(valueType=bool)
def was_put_down(before: Any, after: Any, neighbor_was_put_down: bool) -> bool:
    """Return whether :func:`put_down` moved an object, or before it the adjacent object."""
    return bool(before[2] != after[2]) or neighbor_was_put_down


@distributionFunction
def support_level(level: float, stands: bool) -> Optional[float]:
    return level if stands else None


def _project_on_plane(self: Any, point: Any, onDirection: Any) -> Any:
    """Project a position onto a flat region for ``on``; return None outside the region."""
    x, y, z = point
    if onDirection is not None:
        dx, dy, dz = onDirection
        if abs(dz) < 1e-12:
            raise RejectionException(
                "the direction is horizontal and does not reach the flat region"
            )
        x, y = x + dx / dz * (self.z - z), y + dy / dz * (self.z - z)
    projected = Vector(x, y, self.z)
    return projected if self.containsPoint(projected) else None


PolygonalRegion.projectVector = _project_on_plane  # Scenic defines none


def _point_on_ground(self: Any) -> Any:
    """Return a random point in the footprint of a workspace, for ``not visible``."""
    if not hasattr(self, "_ground"):
        self._ground = PolygonalRegion(polygon=self.polygons)
    return self._ground.uniformPointInner()


PolygonalFootprintRegion.uniformPointInner = _point_on_ground
