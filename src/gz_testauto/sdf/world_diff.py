"""What has to change for one world to become another while it runs.

Owns the one rule for what is the same model, and the comparison of two worlds by it: which models
are gone, which are new, which only stand elsewhere, and whether anything else differs, which no
simulator can change in a world that runs. Changes nothing itself.
"""

import copy
from dataclasses import dataclass
from typing import Dict, Mapping, Optional, Tuple

from lxml import etree

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.edit import model_elements, parse_model
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scene import WorldScene
from gz_testauto.sdf.state import same_pose


@dataclass(frozen=True)
class ModelChanges:
    """Names of models to delete, of models to spawn, in that order, and of those that stay, which
    only may have to be moved. One that is replaced is in the first two."""

    to_delete: Tuple[str, ...]
    to_spawn: Tuple[str, ...]
    kept: Tuple[str, ...]


def model_changes(standing: Mapping[str, Optional[str]], wanted: Mapping[str, str]) -> ModelChanges:
    """What makes the ``standing`` models the ``wanted`` ones, each SDF text by name.

    A model stays where its text means the same as the wanted one's, as :func:`same_model` says. A
    standing text of None is not known, so that model goes.
    """
    kept = tuple(
        name
        for name, text in standing.items()
        if text is not None and name in wanted and same_model(text, wanted[name])
    )
    return ModelChanges(
        to_delete=tuple(name for name in standing if name not in kept),
        to_spawn=tuple(name for name in wanted if name not in kept),
        kept=kept,
    )


def same_model(one: str, other: str) -> bool:
    """Whether two SDF texts say the same but for the model's name and pose, and for comments and
    white space. Raises ``SdfError`` for what is no model."""
    return one == other or _nameless(one) == _nameless(other)


@dataclass(frozen=True)
class WorldChanges:
    """What has to change: models by name, new ones as SDF text without a pose, and poses (world
    frame) of those to move. ``rest`` says what else differs, empty where nothing does."""

    to_delete: Tuple[str, ...]
    to_spawn: Mapping[str, str]
    moved: Mapping[str, Pose]
    other: str = ""


class WorldModels:
    """A world's models: ``poses`` in the world frame, and ``texts``, each SDF of its own with
    includes written out, URIs absolute and no pose, by name in file order."""

    def __init__(self, scene: WorldScene) -> None:
        """Raises ``SdfError`` for what is included and not found."""
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
        changes = model_changes(self.texts, other.texts)
        return WorldChanges(
            to_delete=changes.to_delete,
            to_spawn={name: other.texts[name] for name in changes.to_spawn},
            moved={
                name: other.poses[name]
                for name in changes.kept
                if not same_pose(self.poses[name], other.poses[name])
            },
            other="" if self.rest == other.rest else "more than the models in the world",
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
    _remove_pose(alone)
    root = etree.Element("sdf", version=document.root.get("version"))
    root.append(alone)
    return _canonical(root)


def _nameless(sdf: str) -> str:
    """A model's text as it is compared."""
    model = parse_model(sdf)
    model.set("name", "")
    _remove_pose(model)
    return _canonical(model)


def _remove_pose(model: Element) -> None:
    for pose in model.findall("pose"):
        model.remove(pose)


def _canonical(element: Element) -> str:
    """XML that is equal where the meaning is: no comments, no white space between elements."""
    bare = copy.deepcopy(element)
    etree.strip_tags(bare, etree.Comment)
    for part in bare.iter():
        part.text = (part.text or "").strip() or None
        part.tail = (part.tail or "").strip() or None
    return etree.tostring(bare, method="c14n").decode("utf-8")
