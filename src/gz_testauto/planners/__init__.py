"""Local planners, each found by name.

``straight`` drives at the goal and is the floor that any planner must beat; ``fgm`` is the
Follow-the-Gap Method, ``fgm_improved`` the same with its published improvements, ``dwa`` the
Dynamic Window Approach.
"""

from typing import Any

from gz_testauto.base.parameters import construct
from gz_testauto.base.registry import Registry
from gz_testauto.planners.interface import LocalPlanner, Origin

PLANNERS = Registry(
    "planner",
    {
        "straight": "gz_testauto.planners.straight:StraightPlanner",
        "fgm": "gz_testauto.planners.fgm:FollowTheGap",
        "fgm_improved": "gz_testauto.planners.fgm_improved:ImprovedFollowTheGap",
        "dwa": "gz_testauto.planners.dwa:DynamicWindow",
    },
)

__all__ = ["PLANNERS", "LocalPlanner", "make_planner", "planner_origin"]


def make_planner(plugin: str, **parameters: Any) -> LocalPlanner:
    """Construct the planner registered as ``plugin`` with ``parameters``.

    Raises as :func:`~gz_testauto.base.parameters.construct`.
    """
    planner: LocalPlanner = construct(PLANNERS, plugin, parameters)
    return planner


def planner_origin(plugin: str, **parameters: Any) -> Origin:
    """Where such a planner comes from, without making it. Raises ``UnknownNameError`` for the
    plugin, and ``SpecError`` for a file that cannot be read."""
    kind = PLANNERS.get(plugin)
    return kind.origin(**parameters) if hasattr(kind, "origin") else Origin()  # or a function
