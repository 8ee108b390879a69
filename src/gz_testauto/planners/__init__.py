"""The local planners, each registered under a name; docs/planners.md describes them."""

from typing import Any

from gz_testauto.base.parameters import construct
from gz_testauto.base.registry import Registry
from gz_testauto.planners.interface import LocalPlanner, Provenance

PLANNERS = Registry(
    "planner",
    {
        "straight": "gz_testauto.planners.straight:StraightPlanner",
        "fgm": "gz_testauto.planners.fgm:FollowTheGap",
        "fgm_improved": "gz_testauto.planners.fgm_improved:ImprovedFollowTheGap",
        "dwa": "gz_testauto.planners.dwa:DynamicWindow",
        "dwa_fox": "gz_testauto.planners.dwa_fox:FoxDynamicWindow",
    },
)

__all__ = ["PLANNERS", "LocalPlanner", "make_planner", "planner_origin"]


def make_planner(plugin: str, **parameters: Any) -> LocalPlanner:
    """Return a new planner of this plug-in.

    Raises ``UnknownNameError`` for an unknown plug-in, ``SpecError`` for invalid parameters.
    """
    planner: LocalPlanner = construct(PLANNERS, plugin, parameters)
    return planner


def planner_origin(plugin: str, **parameters: Any) -> Provenance:
    """Return the provenance of a planner, which is empty if the plug-in does not declare one.

    Raises ``UnknownNameError`` for an unknown plug-in, and ``SpecError`` if a file of the planner
    cannot be read.
    """
    kind = PLANNERS.get(plugin)
    # a plug-in can also be a function, which has no provenance
    return kind.origin(**parameters) if hasattr(kind, "origin") else Provenance()
