"""What has to change for one world to become another while it runs.

Owns the comparison of two worlds model by model: which are gone, which are new, which only
stand elsewhere, and whether anything else differs, which no simulator can change in a world that
runs. Changes nothing itself.
"""

import copy
from dataclasses import dataclass
from typing import Dict, Mapping, Optional, Tuple

from lxml import etree

from gz_testauto.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.edit import model_elements
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scene import WorldScene
from gz_testauto.sdf.state import same_pose
from gz_testauto.sdf.values import set_pose
from gz_testauto.xml_file import parse_xml


@dataclass(frozen=True)
class WorldChanges:
    """Names of models to delete, models to spawn as SDF text that has their pose, and poses
    (world frame) of those to move, in that order; a model that was resized is in the first two.
    ``rest`` says what else differs, empty where nothing does."""

    gone: Tuple[str, ...]
    new: Mapping[str, str]
    moved: Mapping[str, Pose]
    rest: str = ""


class WorldModels:
    """A world's models as texts that can be compared."""

    def __init__(self, scene: WorldScene) -> None:
        document = scene.document.copy()
        library = ModelLibrary()
        self.poses: Dict[str, Pose] = {name: model.pose for name, model in scene.models.items()}
        self.texts: Dict[str, str] = {}
        for name, element in model_elements(document, library).items():
            if name in scene.models:
                self.texts[name] = _text(document, library, element, name)
                element.getparent().remove(element)
        self.rest = _canonical(document.world)

    def changes_to(self, other: "WorldModels") -> WorldChanges:
        """What makes this world the other one."""
        differ = {
            name
            for name in {*self.texts, *other.texts}
            if self.texts.get(name) != other.texts.get(name)
        }
        return WorldChanges(
            gone=tuple(sorted(name for name in differ if name in self.texts)),
            new={
                name: _placed(text, other.poses[name])
                for name, text in other.texts.items()
                if name in differ
            },
            moved={
                name: other.poses[name]
                for name in other.texts
                if name not in differ and not same_pose(self.poses[name], other.poses[name])
            },
            rest="" if self.rest == other.rest else "more than the models in the world",
        )


def _text(document: SdfDocument, library: ModelLibrary, element: Element, name: str) -> str:
    """A model's whole SDF, includes written out and URIs absolute, without its pose."""
    if element.tag == "include":
        model = library.expand(document, element)
        alone = copy.deepcopy(model)
        model.getparent().replace(model, element)
    else:
        alone = copy.deepcopy(element)
        library.absolutize(document, alone)
        root = etree.Element("sdf", version=document.root.get("version"))
        root.append(alone)
        library.expand_all(SdfDocument(root, b"", document.source, document.path), alone)
    alone.set("name", name)
    alone.tail = None
    pose: Optional[Element] = alone.find("pose")
    if pose is not None:
        alone.remove(pose)
    root = etree.Element("sdf", version=document.root.get("version"))
    root.append(alone)
    return _canonical(root)


def _placed(text: str, pose: Pose) -> str:
    """A model's text with a pose in the world frame."""
    root = parse_xml(text.encode())
    set_pose(root.find("model"), pose)
    return etree.tostring(root, encoding="unicode")


def _canonical(element: Element) -> str:
    """XML that is equal where the meaning is: no comments, no white space between elements."""
    bare = copy.deepcopy(element)
    etree.strip_tags(bare, etree.Comment)
    for part in bare.iter():
        part.text = (part.text or "").strip() or None
        part.tail = (part.tail or "").strip() or None
    return etree.tostring(bare, method="c14n").decode("utf-8")
