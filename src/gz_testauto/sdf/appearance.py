"""Read and write the appearance of visuals and the lights of a world.

Missing values have Gazebo's defaults, and a missing color is :data:`GREY`. The OGRE file of a
``<script>`` in a ``<material>`` is not read, so such a material is gray without colors in SDF.
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
    vector,
)

Color = Tuple[float, float, float, float]  # red, green, blue and alpha, each from 0 to 1
GREY: Color = (0.7, 0.7, 0.7, 1.0)
BLACK: Color = (0.0, 0.0, 0.0, 1.0)
WHITE: Color = (1.0, 1.0, 1.0, 1.0)


@dataclass(frozen=True)
class Appearance:
    """The colors of a visual, and its ``transparency`` from 0 (opaque) to 1 (invisible)."""

    ambient: Color = GREY
    diffuse: Color = GREY
    specular: Color = BLACK
    emissive: Color = BLACK
    transparency: float = 0.0
    visible: bool = True


@dataclass(frozen=True)
class Light:
    """A ``point``, ``directional`` or ``spot`` light of the world.

    ``direction`` is in the frame of ``pose``. At a distance d of up to ``range_m``, the intensity
    is multiplied by 1 / (constant + linear d + quadratic d²).
    """

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
    material = visual.find("material")
    colors = {tag: _read_color(document, material, tag) for tag in COLORS}
    specified = {tag: color for tag, color in colors.items() if color is not None}
    if "ambient" not in specified and "diffuse" in specified:
        specified["ambient"] = specified["diffuse"]
    visible = visual.find("visible")
    return Appearance(
        transparency=number(document, visual, "transparency", 0.0),
        visible=True if visible is None else flag(document, visual, "visible"),
        **specified,
    )


def write_appearance(visual: Element, appearance: Appearance) -> None:
    material = ensure_child(visual, "material")
    for script in material.findall("script"):  # a script would override the colors
        material.remove(script)
    for tag in COLORS:
        set_numbers(ensure_child(material, tag), *getattr(appearance, tag))
    set_numbers(ensure_child(visual, "transparency"), appearance.transparency)
    if not appearance.visible:
        ensure_child(visual, "visible").text = "false"
    else:
        for visible_element in visual.findall("visible"):
            visual.remove(visible_element)


def read_lights(
    document: SdfDocument, library: ModelLibrary
) -> Iterator[Tuple[str, Element, Light]]:
    """Yield the name, the ``<light>`` or ``<include>``, and the values of each light of a world."""
    world = document.world
    for child in () if world is None else world:
        if child.tag == "light":
            yield name_of(document, child), child, read_light(document, child)
        elif child.tag == "include":
            included_light = library.included_light(document, child)
            if included_light is None:
                continue
            source, element = included_light
            light = read_light(source, element)
            name = (child.findtext("name") or "").strip() or name_of(source, element)
            yield name, child, light


def read_light(document: SdfDocument, element: Element) -> Light:
    default = Light()
    attenuation_element = element.find("attenuation")
    attenuation = {
        field: number(document, attenuation_element, tag, getattr(default, field))
        for field, tag in _ATTENUATION.items()
        if attenuation_element is not None
    }
    return Light(
        kind=element.get("type") or default.kind,
        pose=pose_value(document, element.find("pose")),
        diffuse=_read_color(document, element, "diffuse") or default.diffuse,
        specular=_read_color(document, element, "specular") or default.specular,
        direction=vector(document, element, "direction", default.direction),
        cast_shadows=flag(document, element, "cast_shadows"),
        **attenuation,
    )


def write_light(element: Element, light: Light) -> None:
    set_pose(element, light.pose)
    for tag in ("diffuse", "specular", "direction"):
        set_numbers(ensure_child(element, tag), *getattr(light, tag))
    attenuation_element = ensure_child(element, "attenuation")
    for field, tag in _ATTENUATION.items():
        set_numbers(ensure_child(attenuation_element, tag), getattr(light, field))
    ensure_child(element, "cast_shadows").text = "true" if light.cast_shadows else "false"


def new_light(name: str, light: Light) -> Element:
    element = etree.Element("light", name=name, type=light.kind)
    write_light(element, light)
    return element


def _read_color(document: SdfDocument, parent: Optional[Element], tag: str) -> Optional[Color]:
    element = None if parent is None else parent.find(tag)
    if element is None:
        return None
    red, green, blue, *alpha = numbers(document, element, 4, min_count=3)
    return (red, green, blue, alpha[0] if alpha else 1.0)
