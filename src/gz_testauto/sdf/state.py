"""Apply the ``<state>`` of a saved world, which overrides the poses in its models.

Gazebo loads only the first ``<state>`` and ignores its ``world_name``. All poses in a ``<state>``,
including those of links and nested models, are in the world frame, and a pose of the canonical link
moves the model.
"""

import copy
from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

import numpy as np

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.frames import relative_to
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.scale import scale_geometry
from gz_testauto.sdf.tree import ModelNode, read_models
from gz_testauto.sdf.values import (
    insert_child,
    name_of,
    pose_value,
    remove_child,
    set_pose,
    text_of,
    vector,
)

_NO_SCALE = (1.0, 1.0, 1.0)
# Tolerance for the digits that Gazebo saves, in meters and in entries of a rotation matrix. A link
# whose saved pose differs by less keeps the pose in its model.
ROUNDING = 1e-5


@dataclass
class SavedModelState:
    pose: Optional[Pose] = None
    scale: Optional[Tuple[float, float, float]] = None
    links: Dict[str, Pose] = field(default_factory=dict)
    models: Dict[str, "SavedModelState"] = field(default_factory=dict)


def apply_state(document: SdfDocument, library: Optional[ModelLibrary] = None) -> None:
    """Apply the poses, insertions and deletions in ``<state>`` to the models and lights of a
    document, and remove ``<state>``. An include is expanded if poses of its links differ from those
    in the included file."""
    world = document.world
    if world is None:
        return
    states = world.findall("state")
    if not states:
        return
    library = library or ModelLibrary()
    first = states[0]
    for state in states:
        remove_child(state)
    _insert_and_delete(document, world, first)
    _place_lights(document, world, first)
    model_states = {
        name_of(document, element): _read_model_state(document, element)
        for element in first.findall("model")
    }
    if not model_states:
        return
    placed_names = set()
    nodes = read_models(document, library)
    for node in nodes:  # Gazebo resolves the poses before it applies the state
        pose = node.placed_by.find("pose")
        if pose is not None and relative_to(document, pose):
            set_pose(node.placed_by, node.pose)
    for node in nodes:
        state_of_model = model_states.get(node.name)
        if state_of_model is not None and node.name not in placed_names:
            placed_names.add(node.name)
            _apply_model_state(document, node, state_of_model, library)


def _read_model_state(document: SdfDocument, element: Element) -> SavedModelState:
    scale = vector(document, element, "scale", _NO_SCALE)
    pose = pose_value(document, element.find("pose"))
    state = SavedModelState(pose, None if scale == _NO_SCALE else scale)
    for link in element.findall("link"):
        state.links[name_of(document, link)] = pose_value(document, link.find("pose"))
    for model in element.findall("model"):
        state.models[name_of(document, model)] = _read_model_state(document, model)
    return state


def _insert_and_delete(document: SdfDocument, world: Element, state: Element) -> None:
    for insertions in state.findall("insertions"):
        for new_element in insertions:
            if new_element.tag in ("model", "light"):
                models = world.findall("model") or list(world)
                position = world.index(models[-1]) + 1 if models else 0
                insert_child(world, copy.deepcopy(new_element), position)
    for deletions in state.findall("deletions"):
        for name in deletions.iter("name"):
            for child in _elements_named(world, (name.text or "").strip()):
                remove_child(child)


def _elements_named(world: Element, name: str) -> List[Element]:
    """Return the elements that place the model or light ``name`` in the world."""
    return [
        child
        for child in world
        if (child.tag in ("model", "light") and child.get("name") == name)
        or (child.tag == "include" and text_of(child, "name") == name)
    ]


def _place_lights(document: SdfDocument, world: Element, state: Element) -> None:
    for light_state in state.findall("light"):
        pose = light_state.find("pose")
        if pose is None:
            continue
        for light in _elements_named(world, name_of(document, light_state)):
            if light.tag != "model":
                set_pose(light, pose_value(document, pose))


@dataclass
class _Placement:
    """The new pose of a model in the frame of its parent. ``links`` contains the new poses (model
    frame) of the links that move within the model."""

    node: ModelNode
    pose: Pose
    links: Dict[str, Pose]
    models: List["_Placement"]

    @property
    def is_rigid(self) -> bool:
        return not self.links and all(
            same_pose(inner.pose, inner.node.pose) and inner.is_rigid for inner in self.models
        )


def _apply_model_state(
    document: SdfDocument, node: ModelNode, state: SavedModelState, library: ModelLibrary
) -> None:
    placement = _apply_poses(node, state, node.pose)
    has_includes = any(model.is_included for _, model, _ in node.walk())
    if has_includes and (state.scale is not None or not placement.is_rigid):
        if node.is_included:
            element = library.expand(document, node.placed_by)
        else:
            element = node.element
            library.expand_all(document, element)
        node = next(
            candidate
            for candidate in read_models(document, library)
            if candidate.placed_by is element
        )
        placement = _apply_poses(node, state, node.pose)
    _write_poses(placement)
    if state.scale is not None:
        for _, _, link, _ in node.walk_links():
            scale_geometry(document, link.element, state.scale)


def _apply_poses(
    node: ModelNode, state: SavedModelState, current_pose: Pose, parent: Optional[Pose] = None
) -> _Placement:
    """Return the new poses of a model and its links by Gazebo's rules. ``current_pose`` is the
    current pose of the model, and ``parent`` that of the model that contains it, in the world
    frame."""
    # The pose of the model is applied before the poses of links and nested models.
    base = current_pose if state.pose is None else state.pose
    final_pose = base
    canonical = _canonical_link(node, base) if parent is None else None
    if canonical is not None:
        name, default_pose = canonical
        link_pose = _saved_link_pose(state, name)
        if link_pose is not None and not same_pose(link_pose, default_pose):
            final_pose = link_pose * (base.inverse() * default_pose).inverse()
    changed_links = {}
    for link in node.links:
        link_pose = _saved_link_pose(state, link.name)
        if link_pose is None or same_pose(link_pose, base * link.pose):
            link_pose = base * link.pose
        if not same_pose(link_pose, final_pose * link.pose):
            changed_links[link.name] = final_pose.inverse() * link_pose
    placements = [
        _apply_poses(model, _nested_state(state, model.name), base * model.pose, final_pose)
        for model in node.models
    ]
    relative_pose = final_pose if parent is None else parent.inverse() * final_pose
    return _Placement(node, relative_pose, changed_links, placements)


def _canonical_link(node: ModelNode, pose: Pose) -> Optional[Tuple[str, Pose]]:
    """Return the scoped name and the world pose of the canonical link of a model at ``pose``, or
    None without links."""
    # As in Gazebo 11, this is the first link, even of a nested model. The attribute canonical_link
    # is ignored.
    for scope, model, inner in node.walk():
        for link in model.links:
            return scope + link.name, pose * inner * link.pose
    return None


def _saved_link_pose(state: SavedModelState, name: str) -> Optional[Pose]:
    if name in state.links:
        return state.links[name]
    outer, separator, inner = name.partition("::")
    return (
        _saved_link_pose(state.models[outer], inner)
        if separator and outer in state.models
        else None
    )


def _nested_state(state: SavedModelState, name: str) -> SavedModelState:
    # Gazebo saves the links of a model that is included in another model as inner::link.
    nested_state = state.models.get(name, SavedModelState())
    scope = f"{name}::"
    scoped_links = {
        link[len(scope) :]: pose for link, pose in state.links.items() if link.startswith(scope)
    }
    return SavedModelState(
        nested_state.pose,
        nested_state.scale,
        {**scoped_links, **nested_state.links},
        nested_state.models,
    )


def _write_poses(placement: _Placement) -> None:
    node = placement.node
    if placement.pose != node.pose:
        set_pose(node.placed_by, placement.pose)
    for link in node.links:
        pose = link.element.find("pose")
        if link.name in placement.links:
            set_pose(link.element, placement.links[link.name])
        elif placement.links and pose is not None and relative_to(node.document, pose):
            set_pose(link.element, link.pose)
    for inner in placement.models:
        if not inner.is_rigid or not same_pose(inner.pose, inner.node.pose):
            _write_poses(inner)


def same_pose(first: Pose, second: Pose) -> bool:
    return bool(
        np.abs(np.subtract(first.position, second.position)).max() <= ROUNDING
        and np.abs(first.rotation - second.rotation).max() <= ROUNDING
    )
