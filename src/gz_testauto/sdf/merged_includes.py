"""Merge the models that a robot includes into the robot, as Gazebo 11 does.

Gazebo 11 moves the links, joints and plug-ins of an included model to the outer model, and puts the
name of the included model before their names. Source: ``addNestedModel()`` in ``parser.cc`` of
SDFormat 9.
"""

from typing import AbstractSet, Dict, Optional

import numpy as np
from lxml import etree

from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element
from gz_testauto.sdf.drives import WheelJoints, is_drive_plugin
from gz_testauto.sdf.dynamics import axis_frame
from gz_testauto.sdf.tree import ModelNode
from gz_testauto.sdf.values import numbers, set_numbers, set_pose, text_of

_MERGED = ("link", "joint", "plugin")
_FRAME_ATTRIBUTES = ("relative_to", "frame")


def is_driven_by_include(robot: ModelNode, wheels: Optional[WheelJoints]) -> bool:
    if wheels is not None:
        scopes = {model.name for model in robot.models if model.is_included}
        return any(name.partition("::")[0] in scopes for name in (*wheels.left, *wheels.right))
    included_models = [model for model in robot.models if model.is_included]
    return not _has_drive(robot) and any(
        _has_drive(inner) for model in included_models for _, inner, _ in model.walk()
    )


def _has_drive(model: ModelNode) -> bool:
    plugins = model.element.findall("plugin")
    return any(is_drive_plugin(plugin.get("filename") or "") for plugin in plugins)


def merge_includes(robot: ModelNode, included_names: AbstractSet[str]) -> None:
    """Move the links, joints and plug-ins of nested models to the model that contains them.

    ``robot`` was read from a document without includes, and ``included_names`` contains the names
    of the nested models that replace an include. Other elements of these models are removed. The
    caller must read the edited elements again.
    """
    for model in robot.models:
        if model.name in included_names:
            for scope, inner, pose in list(model.walk(model.pose, f"{model.name}::")):
                _merge_model(robot.element, inner, pose, scope)
            robot.element.remove(model.element)


def _merge_model(outer: Element, model: ModelNode, pose: Pose, scope: str) -> None:
    """Move the parts of ``model`` to ``outer``, with scoped names and their poses in ``outer``."""
    poses = {link.name: link.pose for link in model.links}
    for joint in model.element.findall("joint"):
        _resolve_joint(model, joint, pose, poses)
    for link in model.links:
        for pose_element in list(link.element.iter("pose")):
            owner = pose_element.getparent()
            if not _names_a_frame(pose_element):
                continue
            if owner.tag in ("collision", "visual"):
                set_pose(owner, link.pose.inverse() * model.frames.of(pose_element, link.name))
            elif owner is not link.element:  # Gazebo 11 ignores the frame, for example of a sensor
                for attribute in _FRAME_ATTRIBUTES:
                    pose_element.attrib.pop(attribute, None)
        set_pose(link.element, pose * link.pose)
    parts = [part for part in model.element if part.tag in _MERGED]
    names = {part.get("name", "") for part in parts if part.tag != "plugin"}
    scopes = {inner.name for inner in model.models}
    for part in parts:
        for element in () if part.tag == "link" else part.iter(etree.Element):
            text = (element.text or "").strip()
            if text in names or text.partition("::")[0] in scopes:
                element.text = scope + text
        if part.tag != "plugin":
            part.set("name", scope + part.get("name", ""))
        outer.append(part)


def _resolve_joint(model: ModelNode, joint: Element, pose: Pose, links: Dict[str, Pose]) -> None:
    """Write the pose of a joint relative to its child link, and its axes in the joint frame. Up to
    SDF 1.4, write the axes in the outer model's frame. ``pose`` is that of ``model`` in the outer
    model, and ``links`` contains the poses of the links in ``model``."""
    child = text_of(joint, "child") or ""
    pose_element = joint.find("pose")
    frame = model.frames.of(pose_element, child)
    for axis in (*joint.findall("axis"), *joint.findall("axis2")):
        direction = axis.find("xyz")
        expression_frame = axis_frame(model, axis, frame)
        if direction is None or expression_frame is frame:
            continue
        target = pose.inverse() if model.document.version < (1, 5) else frame
        vector = expression_frame.rotation @ np.array(numbers(model.document, direction, 3))
        set_numbers(direction, *(target.rotation.T @ vector))
        direction.attrib.pop("expressed_in", None)
        for flag in axis.findall("use_parent_model_frame"):
            axis.remove(flag)
    if pose_element is not None and _names_a_frame(pose_element) and child in links:
        set_pose(joint, links[child].inverse() * frame)


def _names_a_frame(pose: Element) -> bool:
    return any(pose.get(attribute) for attribute in _FRAME_ATTRIBUTES)
