"""Actors and other hooks: everything that moves and changes in a world except the robot.

A :class:`~gz_testauto.actors.hook.Hook` is called before each step and requests changes. An
:class:`~gz_testauto.actors.actor.Actor` is a hook with a model. An
:class:`~gz_testauto.actors.simulation.ActorSimulation` is a simulation with hooks. An
:class:`~gz_testauto.actors.tracker.ObjectTracker`, between simulator and planner, turns true states
into tracked objects, identically for every simulator.
"""
