"""Actors and other hooks: everything that moves and changes in a world except the robot.

A :class:`~gz_testauto.behaviours.hook.Hook` is called before each step and requests changes. An
:class:`~gz_testauto.behaviours.actor.Actor` is a hook with a model. An
:class:`~gz_testauto.behaviours.simulation.ActorSimulation` is a simulation with hooks.
"""

from gz_testauto.base.registry import Registry

BEHAVIOURS = Registry(
    "behaviour",
    {
        "patrol": "gz_testauto.behaviours.patrol:Patrol",
        "wander": "gz_testauto.behaviours.wander:Wander",
        "social_force": "gz_testauto.behaviours.social_force:SocialForce",
        "flow": "gz_testauto.behaviours.flow:Flow",
        "script": "gz_testauto.behaviours.script:Script",
        "polynomial": "gz_testauto.behaviours.script:Script",
        "follow": "gz_testauto.behaviours.follow:Follow",
        "cross": "gz_testauto.behaviours.cross:Cross",
        "door": "gz_testauto.behaviours.door:Door",
        "tree": "gz_testauto.behaviours.tree:Tree",
    },
)

HOOKS = Registry("hook", {})
"""Functions that make a hook for one trial; see :func:`gz_testauto.trial.actors.prepare_actors`."""

__all__ = ["BEHAVIOURS", "HOOKS"]
