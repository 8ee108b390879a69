"""Actors and other hooks: everything that moves and changes in a world except the robot.

A :class:`~gz_testauto.actors.hook.Hook` is called before each step and requests changes. An
:class:`~gz_testauto.actors.actor.Actor` is a hook with a model. An
:class:`~gz_testauto.actors.simulation.ActorSimulation` is a simulation with hooks. An
:class:`~gz_testauto.actors.tracker.ObjectTracker`, between simulator and planner, turns true states
into tracked objects, identically for every simulator.
"""

from gz_testauto.base.registry import Registry

HOOKS = Registry("hook", {})
"""Functions that create a hook for one trial; see
:func:`gz_testauto.trial.actors.prepare_actors`. A campaign uses the name ``scenario`` only, for
``worlds.dynamic``; any other hook is added to an ``ActorSimulation`` in Python."""

__all__ = ["HOOKS"]
