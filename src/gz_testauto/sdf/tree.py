"""Read models as trees of links and nested models, with resolved includes and poses."""

from dataclasses import dataclass, field
from typing import AbstractSet, Iterator, List, Optional, Tuple

from gz_testauto.base.errors import SdfError
from gz_testauto.base.pose import Pose
from gz_testauto.sdf.document import Element, SdfDocument
from gz_testauto.sdf.frames import FrameGraph, relative_to
from gz_testauto.sdf.includes import ModelLibrary
from gz_testauto.sdf.values import name_of, pose_value, text_of


@dataclass
class LinkNode:
    """A link of a model. ``pose`` is in the model frame."""

    name: str
    element: Element
    pose: Pose


@dataclass
class ModelNode:
    """A model and its nested models.

    ``pose`` is in the frame of the model or world that contains the model. ``placed_by`` is the
    element that places the model: ``element`` itself, or an ``<include>`` in another document.
    ``static`` is the value of ``<static>``, which a model and the models that it includes share.
    """

    name: str
    document: SdfDocument
    element: Element
    placed_by: Element
    pose: Pose
    static: bool
    frames: FrameGraph
    links: List[LinkNode] = field(default_factory=list)
    models: List["ModelNode"] = field(default_factory=list)

    @property
    def is_included(self) -> bool:
        return self.placed_by is not self.element

    def walk(self, pose: Pose = Pose(), scope: str = "") -> Iterator[Tuple[str, "ModelNode", Pose]]:
        """Yield the scope, the node and the pose of this model and of all nested models. A scope is
        the prefix of scoped names, such as ``inner::``. The poses are in the frame of ``pose``."""
        yield scope, self, pose
        for model in self.models:
            yield from model.walk(pose * model.pose, f"{scope}{model.name}::")

    def walk_links(self) -> Iterator[Tuple[str, "ModelNode", LinkNode, Pose]]:
        """Yield the scoped name, model, node and pose (in this model) of each link."""
        for scope, model, pose in self.walk():
            for link in model.links:
                yield scope + link.name, model, link, pose * link.pose

    def static_links(self) -> Iterator[str]:
        """Return the scoped names of the links that cannot move. A static model fixes only its
        links and the models that it includes."""
        return (name for name, model, _, _ in self.walk_links() if model.static)


def read_models(document: SdfDocument, library: ModelLibrary) -> List[ModelNode]:
    """Return the models of a world, or the model of a model file, in file order."""
    world = document.world
    if world is None:
        if document.model is None:
            raise SdfError(f"{document.source}: contains neither a <world> nor a <model>")
        frames = FrameGraph(document, document.root)
        node = read_model(document, document.model, library)
        node.pose = frames.of(document.model.find("pose"))
        return [node]
    nodes = _read_children(document, world, FrameGraph(document, world), library)
    names = {node.name for node in nodes}
    for node in nodes:
        _require_other_names(node, names)
    return nodes


def _require_other_names(node: ModelNode, names: AbstractSet[str]) -> None:
    """Raise ``SdfError`` if a nested model has one of the ``names`` of the models of the world."""
    for _, model, _ in node.walk():
        for inner in model.models:
            if inner.name in names and not inner.is_included:
                raise SdfError(
                    f"{inner.document.where(inner.element)}: {inner.name!r}, a model in "
                    f"{model.name!r}, has the name of a model of the world, and Gazebo 11 places "
                    "it like that one; rename one of them"
                )


def read_model(
    document: SdfDocument,
    element: Element,
    library: ModelLibrary,
    static: Optional[bool] = None,
) -> ModelNode:
    """Return the tree of a ``<model>``, with the identity as its pose. ``static`` replaces its
    ``<static>``, unless it is None."""
    if element.get("placement_frame"):
        raise SdfError(
            f"{document.where(element)}: placement_frame is SDF 1.8, which Gazebo 11 does not "
            "support; place the model by its own frame"
        )
    if static is None:
        static = library.static(document, element)
    frames = FrameGraph(document, element)
    node = ModelNode(
        name=name_of(document, element),
        document=document,
        element=element,
        placed_by=element,
        pose=Pose(),
        static=bool(static),
        frames=frames,
    )
    links = element.findall("link")
    for link in links:
        frames.add(name_of(document, link), link.find("pose"))
    for joint in element.findall("joint"):
        frames.add(name_of(document, joint), joint.find("pose"), text_of(joint, "child") or "")
    node.models = _read_children(document, element, frames, library, static)
    for link in links:
        name = name_of(document, link)
        node.links.append(LinkNode(name, link, frames.pose(name)))
    return node


def _read_children(
    document: SdfDocument,
    parent: Element,
    frames: FrameGraph,
    library: ModelLibrary,
    static: Optional[bool] = None,
) -> List[ModelNode]:
    nodes: List[ModelNode] = []
    for child in parent:
        if child.tag == "model":
            node = read_model(document, child, library)
        elif child.tag == "include":
            included_node = _read_included(document, child, library, static)
            if included_node is None:
                continue
            node = included_node
        else:
            continue
        nodes.append(node)
        pose = node.placed_by.find("pose")
        if parent.tag == "model" and node.is_included:
            frames.forbid(node.name)
            _require_mergeable(document, node)
        if pose is not None or not node.is_included:
            frames.add(node.name, pose, nested_graph=node.frames)
        else:
            frames.add_fixed(node.name, node.pose, node.frames)
    for node in nodes:  # all frames to which these poses can refer are now known
        node.pose = frames.pose(node.name, document.where(node.placed_by))
        if parent.tag == "model":
            _require_own_frame(document, node)
    return nodes


def _require_mergeable(document: SdfDocument, node: ModelNode) -> None:
    """Raise ``SdfError`` for an ``<include>`` in a model that Gazebo 11 would place elsewhere."""
    for _, model, _ in node.walk():
        for inner in model.models:
            location = document.where(node.placed_by)
            if not inner.is_included:
                raise SdfError(
                    f"{location}: {model.name!r}, which is included in a model, contains the model "
                    f"{inner.name!r}, and Gazebo 11 places its links elsewhere; include "
                    f"{inner.name!r} as a file, or include {node.name!r} directly in the world"
                )
            if inner.name == model.name:
                raise SdfError(
                    f"{location}: {model.name!r} includes a model of the same name, and Gazebo 11 "
                    "places its links elsewhere; set another <name> in one of the includes"
                )


def _require_own_frame(document: SdfDocument, node: ModelNode) -> None:
    """Raise ``SdfError`` if a nested model has a pose relative to a frame that Gazebo 11 ignores.
    This is each frame except that of the parent model."""
    pose = node.placed_by.find("pose")
    name = "" if pose is None else relative_to(document, pose)
    if name not in ("", "__model__") and node.pose != pose_value(document, pose):
        raise SdfError(
            f"{document.where(pose)}: the pose of the nested model {node.name!r} is relative to "
            f"{name!r}, which Gazebo 11 ignores in nested models; specify it relative to the model "
            "that contains it"
        )


def _read_included(
    document: SdfDocument, include: Element, library: ModelLibrary, static: Optional[bool]
) -> Optional[ModelNode]:
    included_model = library.included(document, include)
    if included_model is None:
        return None
    if static is None:
        static = library.static_of_include(document, include)
    with library.entered(document, include):
        node = read_model(included_model.document, included_model.element, library, static)
    node.placed_by = include
    node.name = text_of(include, "name") or node.name
    # The pose in the included file is used only if the include has none.
    node.pose = FrameGraph(included_model.document, included_model.document.root).of(
        included_model.element.find("pose")
    )
    return node
