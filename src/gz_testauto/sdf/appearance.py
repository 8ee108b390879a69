"""How things look: the colors of a ``<visual>``, and lights.

Owns the reading of ``<material>``, ``<transparency>``, ``<visible>`` and ``<light>``, and their
writing. What nobody says is what :data:`GREY` and Gazebo's own defaults say. A material that is a
script has its colors in a file of OGRE's, which is not read: it counts as gray until it is given
colors.
"""

from dataclasses import dataclass
from typing import Iterator, Optional, Tuple

from lxml import etree

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.values import (
    ensure_child,
    flag,
    name_of,
    number,
    numbers,
    pose_value,
    set_numbers,
    set_pose,
)

Color = Tuple[float, float, float, float]
"""Red, green, blue and alpha, each from 0 to 1."""

GREY: Color = (0.7, 0.7, 0.7, 1.0)
BLACK: Color = (0.0, 0.0, 0.0, 1.0)
WHITE: Color = (1.0, 1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Appearance:
    """How a visual looks. ``transparency`` is from 0, solid, to 1."""

    ambient: Color = GREY
    diffuse: Color = GREY
    specular: Color = BLACK
    emissive: Color = BLACK
    transparency: float = 0.0
    visible: bool = True


@dataclass(frozen=True)
class Light:
    """A light of the world. ``kind`` is point, directional or spot; ``direction`` is in the frame
    of its pose, ``range_m`` how far it reaches, and its strength at a distance d 1 / (constant +
    linear d + quadratic d²)."""

    kind: str = "point"
    pose: Pose = Pose()
    diffuse: Color = WHITE
    specular: Color = (0.1, 0.1, 0.1, 1.0)
    direction: Tuple[float, float, float] = (0.0, 0.0, -1.0)
    range_m: float = 10.0
    constant: float = 1.0
    linear: float = 0.0
    quadratic: float = 0.0
    cast_shadows: bool = False


COLORS = ("ambient", "diffuse", "specular", "emissive")
_ATTENUATION = {
    "range_m": "range",
    "constant": "constant",
    "linear": "linear",
    "quadratic": "quadratic",
}


def read_appearance(document: SdfDocument, visual: Element) -> Appearance:
    """How a ``<visual>`` looks. Raises ``SdfError`` for what is no number."""
    material = visual.find("material")
    colors = {tag: _color(document, material, tag) for tag in COLORS}
    said = {tag: color for tag, color in colors.items() if color is not None}
    if "ambient" not in said and "diffuse" in said:
        said["ambient"] = said["diffuse"]
    shown = visual.find("visible")
    return Appearance(
        transparency=number(document, visual, "transparency", 0.0),
        visible=True if shown is None else flag(document, visual, "visible"),
        **said,
    )


def write_appearance(visual: Element, look: Appearance) -> None:
    """Have a ``<visual>`` look like this; a material's script would overrule it and goes."""
    material = ensure_child(visual, "material")
    for script in material.findall("script"):
        material.remove(script)
    for tag in COLORS:
        set_numbers(ensure_child(material, tag), *getattr(look, tag))
    set_numbers(ensure_child(visual, "transparency"), look.transparency)
    if not look.visible:
        ensure_child(visual, "visible").text = "false"
    else:
        for hidden in visual.findall("visible"):
            visual.remove(hidden)


def read_lights(
    document: SdfDocument, library: ModelLibrary
) -> Iterator[Tuple[str, Element, Light]]:
    """The lights of a world by name, each with the element that is it: those written in the world
    and those it includes, whose element is in another document."""
    world = document.world
    for child in () if world is None else world:
        if child.tag == "light":
            yield name_of(document, child), child, read_light(document, child)
        elif child.tag == "include":
            found = library.included_light(document, child)
            if found is None:
                continue
            source, element = found
            light = read_light(source, element)
            name = (child.findtext("name") or "").strip() or name_of(source, element)
            yield name, child, light


def read_light(document: SdfDocument, element: Element) -> Light:
    """A ``<light>``. Raises ``SdfError`` for what is no number."""
    default = Light()
    fall = element.find("attenuation")
    direction = element.find("direction")
    attenuation = {
        field: number(document, fall, tag, getattr(default, field))
        for field, tag in _ATTENUATION.items()
        if fall is not None
    }
    x, y, z = default.direction if direction is None else numbers(document, direction, 3)
    return Light(
        kind=element.get("type") or default.kind,
        pose=pose_value(document, element.find("pose")),
        diffuse=_color(document, element, "diffuse") or default.diffuse,
        specular=_color(document, element, "specular") or default.specular,
        direction=(x, y, z),
        cast_shadows=flag(document, element, "cast_shadows"),
        **attenuation,
    )


def write_light(element: Element, light: Light) -> None:
    """Have a ``<light>`` be like this."""
    set_pose(element, light.pose)
    for tag in ("diffuse", "specular", "direction"):
        set_numbers(ensure_child(element, tag), *getattr(light, tag))
    fall = ensure_child(element, "attenuation")
    for field, tag in _ATTENUATION.items():
        set_numbers(ensure_child(fall, tag), getattr(light, field))
    ensure_child(element, "cast_shadows").text = "true" if light.cast_shadows else "false"


def new_light(name: str, light: Light) -> Element:
    """A ``<light>`` of that name."""
    element = etree.Element("light", name=name, type=light.kind)
    write_light(element, light)
    return element


def _color(document: SdfDocument, parent: Optional[Element], tag: str) -> Optional[Color]:
    element = None if parent is None else parent.find(tag)
    if element is None:
        return None
    red, green, blue, *alpha = numbers(document, element, 4, least=3)
    return (red, green, blue, alpha[0] if alpha else 1.0)
