"""Compute the changes that turn one running world into another."""

import copy
from dataclasses import dataclass
from typing import Dict, Mapping, Optional, Tuple

from lxml import etree

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element
from gz_testauto.sdf.edit import model_elements, parse_model
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scene import WorldScene
from gz_testauto.sdf.state import same_pose


@dataclass(frozen=True)
class ModelChanges:
    """The names of the models to delete, to spawn afterwards, and to keep, perhaps with a new pose.
    A replaced model is both in ``to_delete`` and in ``to_spawn``."""

    to_delete: Tuple[str, ...]
    to_spawn: Tuple[str, ...]
    kept: Tuple[str, ...]


def model_changes(
    current_texts: Mapping[str, Optional[str]], target_texts: Mapping[str, str]
) -> ModelChanges:
    """Return the changes from the models ``current_texts`` to ``target_texts``, both SDF texts by
    name. A present model with an unknown text (None) is deleted."""
    kept_names = tuple(
        name
        for name, text in current_texts.items()
        if text is not None and name in target_texts and same_model(text, target_texts[name])
    )
    return ModelChanges(
        to_delete=tuple(name for name in current_texts if name not in kept_names),
        to_spawn=tuple(name for name in target_texts if name not in kept_names),
        kept=kept_names,
    )


def same_model(first: str, second: str) -> bool:
    """Return whether two SDF texts are equal except for the name, the pose, comments and white
    space."""
    return first == second or _content_of(first) == _content_of(second)


@dataclass(frozen=True)
class WorldChanges:
    """The changes from one world to another.

    ``to_spawn`` contains SDF texts without poses, and ``moved`` new poses in the world frame, by
    name. ``other`` describes differences that no simulator can apply to a running world.
    """

    to_delete: Tuple[str, ...]
    to_spawn: Mapping[str, str]
    moved: Mapping[str, Pose]
    other: str = ""


class WorldModels:
    """The models of a world by name, in file order.

    ``poses`` are in the world frame. ``texts`` are separate SDF documents with expanded includes
    and absolute URIs, and without poses.
    """

    def __init__(self, scene: WorldScene) -> None:
        document = scene.document.copy()
        library = ModelLibrary()
        self.poses: Dict[str, Pose] = {name: model.pose for name, model in scene.models.items()}
        self.texts: Dict[str, str] = {}
        for name, element in model_elements(document, library).items():
            if name in scene.models:
                root = library.standalone(document, element, name)
                _remove_pose(root[0])
                self.texts[name] = _canonical(root)
                element.getparent().remove(element)
        self.remaining_world = _canonical(document.world)

    def changes_to(self, target: "WorldModels") -> WorldChanges:
        changes = model_changes(self.texts, target.texts)
        return WorldChanges(
            to_delete=changes.to_delete,
            to_spawn={name: target.texts[name] for name in changes.to_spawn},
            moved={
                name: target.poses[name]
                for name in changes.kept
                if not same_pose(self.poses[name], target.poses[name])
            },
            other=""
            if self.remaining_world == target.remaining_world
            else "more than the models in the world",
        )


def _content_of(sdf: str) -> str:
    """Return the canonical text of a model without its name and pose."""
    model = parse_model(sdf)
    model.set("name", "")
    _remove_pose(model)
    return _canonical(model)


def _remove_pose(model: Element) -> None:
    for pose in model.findall("pose"):
        model.remove(pose)


def _canonical(element: Element) -> str:
    """Return canonical XML without comments, and without white space between elements."""
    copied_element = copy.deepcopy(element)
    etree.strip_tags(copied_element, etree.Comment)
    for part in copied_element.iter():
        part.text = (part.text or "").strip() or None
        part.tail = (part.tail or "").strip() or None
    return etree.tostring(copied_element, method="c14n").decode("utf-8")
