"""What moves and changes in a world beside the robot, in lock-step with it.

:class:`~gz_testauto.behaviours.stage.Stage` is a simulation that asks trackers before each step
what is to change; a :class:`~gz_testauto.behaviours.behaviour.Behaviour` is a tracker that has a
model.
``patrol``, ``wander``, ``social_force``, ``flow``, ``script``, ``polynomial``, ``follow``,
``cross``, ``door`` and ``tree`` come with the package.
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
"""Functions that make a hook for one trial; see :func:`gz_testauto.trial.staging.stage_trial`."""

__all__ = ["BEHAVIOURS", "HOOKS"]
