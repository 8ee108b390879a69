"""What models are called on the server.

A name that was deleted cannot be used again for more than half a second (see
:meth:`~gz_testauto.simulators.gazebo.world.WorldLink.request_deletion`), which between trials
would be most of the time. So every other scene on a server has its models under names with a
suffix. Owns the suffix; nobody outside this adaptor sees it.
"""

from typing import Any

from lxml import etree

SUFFIX = "__gz_testauto"


class Alias:
    """The names of one scene's models; ``second`` scenes have the suffix."""

    def __init__(self, second: bool) -> None:
        self._suffix = SUFFIX if second else ""

    def on_server(self, name: str) -> str:
        """What a model is called on the server."""
        return name + self._suffix

    def describe(self, model: Any) -> Any:
        """A ``Model`` message with everything under the names that the world knows."""
        shown = type(model)()
        shown.CopyFrom(model)
        _rename(shown)
        return shown

    def rename_saved(self, world: "etree._Element") -> None:
        """Give the models of a saved world, and of its ``<state>``, their own names."""
        for parent in (world, *world.iterchildren("state")):
            for model in parent.iterchildren("model"):
                model.set("name", own_name(model.get("name", "")))


def own_name(scoped: str) -> str:
    """The name that the world knows, of a model or of something in one."""
    model, separator, rest = scoped.partition("::")
    if model.endswith(SUFFIX):
        model = model[: -len(SUFFIX)]
    return model + separator + rest


def _rename(model: Any) -> None:
    model.name = own_name(model.name)
    for link in model.link:
        link.name = own_name(link.name)
        for collision in link.collision:
            collision.name = own_name(collision.name)
    for joint in model.joint:
        joint.name, joint.parent = own_name(joint.name), own_name(joint.parent)
        joint.child = own_name(joint.child)
    for nested in model.model:
        _rename(nested)
