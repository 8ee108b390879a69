"""Names of models on the server.

The name of a deleted model cannot be used again for more than half a second (see
:meth:`~gz_testauto.simulators.gazebo.world.WorldLink.request_deletion`), and this wait would be
most of the time between trials. Therefore every other scene on a server adds a suffix to the names
of its models. The suffix is not visible outside of this adaptor.
"""

from lxml import etree

SUFFIX = "__gz_testauto"


class Alias:
    """The names of the models of one scene on the server. They have the suffix if ``second`` is
    true."""

    def __init__(self, second: bool) -> None:
        self._suffix = SUFFIX if second else ""

    def on_server(self, name: str) -> str:
        """Return the name of a model on the server."""
        return name + self._suffix

    def rename_saved(self, world: "etree._Element") -> None:
        """Restore the names of the models in a saved world and in its ``<state>``."""
        for parent in (world, *world.iterchildren("state")):
            for model in parent.iterchildren("model"):
                model.set("name", own_name(model.get("name", "")))


def own_name(scoped: str) -> str:
    """Return the name in the scene of a model, or of a part of a model."""
    model, separator, rest = scoped.partition("::")
    if model.endswith(SUFFIX):
        model = model[: -len(SUFFIX)]
    return model + separator + rest
