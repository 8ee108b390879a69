"""SDF of the models of actors: a single link without gravity, which stays upright in contacts."""

from pathlib import Path
from typing import Tuple

from lxml import etree

from gz_testauto.base.arithmetic import turned_tensor
from gz_testauto.base.errors import SdfError, SpecError
from gz_testauto.base.pose import Pose
from gz_testauto.base.resources import model_file
from gz_testauto.base.xml_file import parse_xml
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.dynamics import read_inertial
from gz_testauto.sdf.edit import parse_model
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.robot_files import read_robot_file
from gz_testauto.sdf.scene import placed_model
from gz_testauto.sdf.shapes import Box, Cylinder, Geometry
from gz_testauto.sdf.values import ensure_child, set_numbers

COLOR = (0.25, 0.45, 0.7, 1.0)

# Moment of inertia about the horizontal axes, so that contacts do not tilt an actor.
UPRIGHT_KGM2 = 1e8

# Number of groups of actors. The bit mask of an actor has only the bit of its group, and those of
# other models have all 16 bits, so actors of different groups have no contact.
CONTACT_GROUPS = 16


def body_sdf(geometry: Geometry, mass_kg: float, center_m: Tuple[float, float, float]) -> str:
    """Return the SDF of a cylinder or a box with its center at ``center_m`` in the model frame."""
    root = etree.Element("sdf", version="1.6")
    link = etree.SubElement(etree.SubElement(root, "model", name="actor"), "link", name="link")
    inertial = etree.SubElement(link, "inertial")
    etree.SubElement(inertial, "pose").text = Pose(center_m).to_text()
    set_numbers(etree.SubElement(inertial, "mass"), mass_kg)
    moments = etree.SubElement(inertial, "inertia")
    for tag, value in zip(("ixx", "iyy", "izz"), geometry.inertia_kgm2(mass_kg)):
        set_numbers(etree.SubElement(moments, tag), value)
    for tag in ("collision", "visual"):
        element = etree.SubElement(link, tag, name=tag)
        etree.SubElement(element, "pose").text = Pose(center_m).to_text()
        shape = etree.SubElement(element, "geometry")
        if isinstance(geometry, Box):
            set_numbers(ensure_child(etree.SubElement(shape, "box"), "size"), *geometry.size)
        elif isinstance(geometry, Cylinder):
            cylinder = etree.SubElement(shape, "cylinder")
            set_numbers(etree.SubElement(cylinder, "radius"), geometry.radius)
            set_numbers(etree.SubElement(cylinder, "length"), geometry.length)
        if tag == "visual":
            material = etree.SubElement(element, "material")
            for color_tag in ("ambient", "diffuse"):
                set_numbers(etree.SubElement(material, color_tag), *COLOR)
    return _as_actor_body(root)


def read_body(path: Path) -> str:
    """Return the SDF of an actor with the model from an SDF, URDF or xacro file. Raises
    ``SpecError`` for a model with several links."""
    document = read_robot_file(model_file(path) if path.is_dir() else path).document
    model = document.model
    if model is None:
        raise SdfError(f"{path}: the file has no <model>; add one, or use another file")
    library = ModelLibrary()
    library.absolutize(document, model)
    library.expand_all(document, model)
    return actor_body_of(model, document.root.get("version", "1.6"), str(path))


def actor_body_of(model: Element, version: str, place: str) -> str:
    """Return the SDF of an actor with the given model, which must not contain includes. Raises
    ``SpecError`` for a model with several links."""
    links = list(model.iter("link"))
    if len(links) != 1:
        raise SpecError(
            f"{place}: the model has {len(links)} links, but the model of an actor must have one; "
            "merge the links, or use another model"
        )
    root = etree.Element("sdf", version=version)
    root.append(parse_model(etree.tostring(model)))
    return _as_actor_body(root)


def in_contact_group(sdf: str, group: int) -> str:
    """Return ``sdf`` with the bit mask of ``group`` in all collisions without a bit mask."""
    root = parse_xml(sdf.encode())
    for collision in root.iter("collision"):
        contact = ensure_child(ensure_child(collision, "surface"), "contact")
        if contact.find("collide_bitmask") is None:
            etree.SubElement(contact, "collide_bitmask").text = str(1 << group)
    return str(etree.tostring(root, encoding="unicode"))


def without_contact_forces(sdf: str) -> str:
    """Return ``sdf`` changed so that all contacts are reported, but exert no force."""
    root = parse_xml(sdf.encode())
    for collision in root.iter("collision"):
        contact = ensure_child(ensure_child(collision, "surface"), "contact")
        ensure_child(contact, "collide_without_contact").text = "true"
    return str(etree.tostring(root, encoding="unicode"))


def _as_actor_body(root: Element) -> str:
    """Remove plug-ins, joints and gravity from the model in ``root``, set an inertia that keeps it
    upright, and return its SDF."""
    model = root.find("model")
    for tag in ("static", "plugin", "joint"):
        for element in model.findall(tag):
            model.remove(element)
    for link in model.iter("link"):
        for tag in ("gravity", "kinematic"):
            for element in link.findall(tag):
                link.remove(element)
        gravity = etree.Element("gravity")
        gravity.text = "false"
        link.insert(0, gravity)
        ensure_child(link, "inertial")
    _keep_upright(root)
    return str(etree.tostring(root, encoding="unicode"))


def _keep_upright(root: Element) -> None:
    """Replace the inertia, so that contacts do not tilt the model."""
    text = etree.tostring(root, encoding="unicode")
    document = SdfDocument.parse(text, "actor")
    inertia = read_inertial(document, next(document.root.iter("link")))
    (link_pose,) = placed_model(text, "actor", Pose()).links.values()
    turned_matrix = turned_tensor(link_pose.rotation, inertia.matrix)
    inertial = next(root.iter("inertial"))
    upright = Pose(inertia.center_m) * Pose(quaternion=link_pose.inverse().quaternion)
    ensure_child(inertial, "pose").text = upright.to_text()
    moments = ensure_child(inertial, "inertia")
    values = {"ixx": UPRIGHT_KGM2, "iyy": UPRIGHT_KGM2, "izz": float(turned_matrix[2, 2])}
    for tag in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"):
        set_numbers(ensure_child(moments, tag), values.get(tag, 0.0))
